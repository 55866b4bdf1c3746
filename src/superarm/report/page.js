// Draws every chart in the colours of the reader's scheme, and again when it changes; the legend isolates policies.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const charts = read("charts");
  const themes = read("themes");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const buttons = [...document.querySelectorAll(".legend button[data-policy]")];
  const all = document.querySelector(".legend .all");
  let views = [];
  let drawing = Promise.resolve();

  const chosen = () => buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.policy);

  async function draw() {
    const root = document.documentElement;
    delete root.dataset.drawn;
    const theme = dark.matches ? "dark" : "light";
    views.forEach((view) => view.finalize());
    views = [];
    for (const [id, spec] of Object.entries(charts)) {
      const place = document.getElementById(id);
      try {
        const drawn = await vegaEmbed(place.firstElementChild, structuredClone(spec), {
          mode: "vega-lite", renderer: "svg", actions: false, config: themes[theme], tooltip: { theme },
        });
        views.push(drawn.view);
      } catch (error) {
        place.textContent = "This chart could not be drawn: " + error.message;
        console.error(error);
      }
    }
    isolate();
    root.dataset.drawn = theme;
  }

  function isolate() {
    const policies = chosen();
    all.hidden = policies.length === 0;
    for (const view of views) view.signal("isolate", policies).run();
  }

  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      isolate();
    });
  }
  all.addEventListener("click", () => {
    buttons.forEach((button) => button.setAttribute("aria-pressed", "false"));
    isolate();
  });
  const again = () => { drawing = drawing.then(draw); };
  dark.addEventListener("change", again);
  again();
})();
