// Draws charts in the colours of the reader's scheme when their part is opened; the legends isolate policies.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const charts = read("charts");
  const themes = read("themes");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const buttons = [...document.querySelectorAll(".legend button[data-policy]")];
  const all = [...document.querySelectorAll(".legend .all")];
  const views = new Map();
  let drawing = Promise.resolve();

  const chosen = new Set();

  async function draw(anew) {
    const root = document.documentElement;
    delete root.dataset.drawn;
    const theme = dark.matches ? "dark" : "light";
    if (anew) {
      views.forEach((view) => view.finalize());
      views.clear();
    }
    for (const [id, spec] of Object.entries(charts)) {
      const place = document.getElementById(id);
      if (views.has(id) || place.closest("details:not([open])")) continue; // what is folded has no width yet
      try {
        const drawn = await vegaEmbed(place.firstElementChild, structuredClone(spec), {
          mode: "vega-lite", renderer: "svg", actions: false, config: themes[theme], tooltip: { theme },
        });
        views.set(id, drawn.view);
      } catch (error) {
        place.textContent = "This chart could not be drawn: " + error.message;
        console.error(error);
      }
    }
    isolate();
    root.dataset.drawn = theme;
  }

  function isolate() {
    const policies = [...chosen];
    for (const button of buttons) button.setAttribute("aria-pressed", String(chosen.has(button.dataset.policy)));
    for (const button of all) button.hidden = policies.length === 0;
    for (const view of views.values()) view.signal("isolate", policies).run();
  }

  function unfold() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    target.scrollIntoView();
  }

  for (const button of buttons) {
    button.addEventListener("click", () => {
      if (!chosen.delete(button.dataset.policy)) chosen.add(button.dataset.policy);
      isolate();
    });
  }
  for (const button of all) {
    button.addEventListener("click", () => {
      chosen.clear();
      isolate();
    });
  }
  const again = (anew) => { drawing = drawing.then(() => draw(anew)); };
  dark.addEventListener("change", () => again(true));
  for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", () => again(false));
  addEventListener("hashchange", unfold);
  unfold();
  again(true);
})();
