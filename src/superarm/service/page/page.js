// Keeps the page up to date, and shows times by the reader's clock. Without this script the page shows all it has.
const QUIET = 2000; // milliseconds between two updates, so that a reader can follow

function localTimes(inside) {
  const shown = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of inside.querySelectorAll("time[datetime]")) time.textContent = shown.format(new Date(time.dateTime));
}

function parts(inside) {
  return new Map([...inside.querySelectorAll("[data-live]")].map((part) => [part.dataset.live, part]));
}

// Whoever is typing in a part, or has opened what it hides, is left alone in it.
function isUsed(part) {
  return part.contains(document.activeElement) && document.activeElement !== document.body;
}

function takeOver(from) {
  localTimes(from);
  const now = parts(document);
  for (const [name, fresh] of parts(from)) {
    const old = now.get(name);
    if (!old || isUsed(old) || old.innerHTML === fresh.innerHTML) continue;
    const open = new Set([...old.querySelectorAll("details[open]")].map((each) => each.dataset.keep));
    const scrolled = [...old.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    old.replaceChildren(...fresh.childNodes);
    for (const each of old.querySelectorAll("details")) each.open = open.has(each.dataset.keep);
    old.querySelectorAll(".scroll").forEach((each, place) => { each.scrollLeft = scrolled[place] ?? 0; });
  }
}

async function update() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin", cache: "no-store" });
  if (answer.redirected || answer.status === 401) return location.reload();
  if (!answer.ok) return;
  takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"));
}

function live(from) {
  const button = document.querySelector("[data-pause]");
  let paused = false, changed = false, busy = false, last = 0;
  async function look() {
    if (paused || busy || !changed || document.hidden) return;
    const rest = last + QUIET - Date.now();
    if (rest > 0) return void setTimeout(look, rest);
    busy = true; changed = false; last = Date.now();
    try { await update(); } catch { changed = true; } finally { busy = false; }
    if (changed) setTimeout(look, QUIET);
  }
  const source = new EventSource(from);
  source.addEventListener("changed", () => { changed = true; look(); });
  document.addEventListener("visibilitychange", look);
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => {
      paused = !paused;
      button.setAttribute("aria-pressed", String(paused));
      button.textContent = paused ? "Go on with updates" : "Pause updates";
      look();
    });
  }
}

localTimes(document);
if (document.body.dataset.liveFrom) live(document.body.dataset.liveFrom);
document.documentElement.dataset.ready = "yes";
