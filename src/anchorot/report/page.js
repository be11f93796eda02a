// What the reader does, and what the page answers.

const state = { side: null, point: null, chosen: null }; // the lit point, and the match chosen in the table
const mouse = { x: 0, y: 0 }; // plotly does not say where it is in space
let sides, plan;

const looks = () => {
  const { side, point, chosen } = state;
  if (side === null) return sides.map(({ colours }) => ({ colours, sizes: null, mark: null }));
  const full = plan.fullHeat(side, point) || 1;
  const warmth = Array.from(plan.shares(side, point), (share) => Math.min(share / full, 1));
  const own = { colours: faded(sides[side].colours), sizes: null, mark: point };
  const other = { colours: heated(warmth), sizes: warmth.map((t) => 0.7 + t), mark: chosen };
  return side ? [other, own] : [own, other];
};

const draw = () => {
  const settings = { displayModeBar: false, responsive: true, scrollZoom: true };
  const now = looks();
  return Promise.all(sides.map((side, s) =>
    Plotly.react(byId(`plot-${s}`), traces(side, now[s]), layout(side, now[s].mark), settings)));
};

const percent = (share) => `${(100 * share).toPrecision(3)} %`;

const row = (side, { point, share }, together) => {
  const line = document.createElement("tr");
  const name = named(side, point);
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
  button.title = `${name} (number ${point})`;
  button.setAttribute("aria-pressed", String(state.chosen === point));
  line.classList.toggle("chosen", state.chosen === point);
  line.dataset.point = point;
  for (const content of [button, percent(share), percent(together)]) {
    const cell = document.createElement("td");
    cell.append(content);
    line.append(cell);
  }
  return line;
};

const tell = () => {
  const { side, point } = state;
  byId("rest").hidden = side !== null;
  byId("found").hidden = side === null;
  byId("status").textContent = "";
  if (side === null) return;
  const found = plan.bestMatches(side, point);
  const title = `Where the mass of ${named(sides[side], point)} in ${sides[side].name} ${side ? "comes from" : "goes"}`;
  byId("found-title").textContent = title;
  let together = 0;
  const rows = found.map((match) => row(sides[1 - side], match, (together += match.share)));
  byId("matches").tBodies[0].replaceChildren(...rows);
  byId("matches").hidden = byId("scale").hidden = !found.length;
  byId("no-mass").hidden = found.length > 0;
  byId("scale-most").textContent = `${percent(plan.fullHeat(side, point))}${found.length > 5 ? " or more" : ""}`;
  byId("scale-bar").style.background = `linear-gradient(90deg, ${themed("heat").split(" ").join(", ")})`;
  const best = found.length && `best match ${named(sides[1 - side], found[0].point)}, ${percent(found[0].share)}`;
  byId("status").textContent = `${title}: ${best || "no mass"}`;
};

const show = (side, point, chosen = null) => {
  Object.assign(state, { side, point, chosen });
  tell();
  return draw();
};

// The point that was hit, or, on a surface, the point nearest to the place that was hit.
const pointOf = ({ body }, { curveNumber, pointNumber }) => {
  if (curveNumber === 1) return pointNumber;
  const first = pointNumber * body.neighbours;
  const shares = body.shares.subarray(first, first + body.neighbours);
  return body.near[first + shares.indexOf(Math.max(...shares))];
};

const hint = (name) => {
  const tip = byId("tip");
  tip.textContent = name;
  tip.hidden = false;
  tip.style.left = `${Math.min(mouse.x + 14, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(mouse.y + 16, innerHeight - tip.offsetHeight - 8)}px`;
};

// A label, else a number, else the beginning of a label; -1 if there is none.
const search = ({ labels, count }, text) => {
  const known = labels ?? [];
  if (known.includes(text)) return known.indexOf(text);
  if (/^\d+$/.test(text) && Number(text) < count) return Number(text);
  return text ? known.findIndex((label) => label.toLowerCase().startsWith(text.toLowerCase())) : -1;
};

const choose = (event) => {
  const line = event.target.closest("tbody tr");
  if (!line) return;
  const point = Number(line.dataset.point);
  show(state.side, state.point, state.chosen === point ? null : point);
  byId("matches").querySelector(`tr[data-point="${point}"] button`).focus();
};

const find = (event) => {
  event.preventDefault();
  const s = Number(byId("find-side").value);
  const box = byId("find-point");
  const point = search(sides[s], box.value.trim());
  box.setCustomValidity(point < 0 ? `${sides[s].name} has no such point` : "");
  if (box.reportValidity()) show(s, point);
};

// In space plotly calls it a click when the mouse goes down, even to turn the thing, and misses quick ones. A finger
// has nothing below it before it taps; what it hit is known a moment later.
const listenInSpace = (plot, side, s) => {
  let below = null;
  let pressed = [0, 0];
  let tapped = -Infinity;
  const reach = ({ points }) => {
    below = pointOf(side, points[0]);
    if (performance.now() - tapped > 400) return;
    tapped = -Infinity;
    show(s, below);
  };
  plot.on("plotly_hover", reach);
  plot.on("plotly_click", reach);
  plot.on("plotly_unhover", () => { below = null; });
  plot.addEventListener("pointerdown", ({ x, y }) => { pressed = [x, y]; }, { capture: true });
  plot.addEventListener("click", ({ x, y }) => {
    if (Math.hypot(x - pressed[0], y - pressed[1]) > 4) return;
    if (below === null) tapped = performance.now();
    else show(s, below);
  }, { capture: true });
  const { camera } = layout(side, null).scene;
  plot.addEventListener("dblclick", () => Plotly.relayout(plot, { "scene.camera": camera }));
};

const listen = () => {
  sides.forEach((side, s) => {
    const plot = byId(`plot-${s}`);
    plot.on("plotly_hover", ({ points }) => hint(named(side, pointOf(side, points[0]))));
    plot.addEventListener("mousemove", ({ x, y }) => Object.assign(mouse, { x, y }), { capture: true });
    plot.on("plotly_unhover", () => { byId("tip").hidden = true; });
    if (side.dim === 3) listenInSpace(plot, side, s);
    else plot.on("plotly_click", ({ points }) => show(s, pointOf(side, points[0])));
  });
  byId("matches").addEventListener("click", choose);
  byId("find").addEventListener("submit", find);
  byId("find-point").addEventListener("input", () => byId("find-point").setCustomValidity(""));
  byId("reset").addEventListener("click", () => show(null, null));
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && state.side !== null) show(null, null);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { tell(); draw(); });
};

try {
  const [data] = await Promise.all([unpack(JSON.parse(byId("data").textContent)), loadPlotly()]);
  sides = data.sides;
  plan = new Plan(data.plan, sides.map(({ count }) => count));
  sides.forEach(prepare);
  await draw();
  listen();
  document.documentElement.dataset.ready = "yes";
} catch (error) {
  byId("failure").hidden = false;
  byId("failure").textContent = `This page could not be drawn (${error}); it needs a browser of 2023 or later.`;
  throw error;
}
