// State of the page and responses to the user.

const state = { side: null, point: null, chosen: null, version: 0 }; // `chosen` is a match selected in the table
const mouse = { x: 0, y: 0 }; // plotly does not report it for 3-D drawings
let sides, versions, categoryColours, pointName; // `pointName` is what points are called: "point" or "node"

const coloursOf = ({ confidence, colours }) => {
  const choice = byId("colour").value;
  if (choice === "category") return categoryColours;
  return confidence && choice === "confidence" ? confidence.map(confidenceColours) : colours;
};

// On a map colours stay, since they show positions; pins mark the selected point and its matches.
const mapAppearance = (version, plain) => {
  const { side, point, chosen } = state;
  const found = version.bestMatches(side, point).map((match) => match.point);
  const shown = chosen === null ? found : [chosen];
  const highlights = [[{ point, isMatch: false }], shown.map((match) => ({ point: match, isMatch: true }))];
  return plain.map((colours, s) => ({ colours, sizes: null, highlights: highlights[s === side ? 0 : 1] }));
};

// In a network the selected node, its match and their neighbours stand out, with their edges.
const networkAppearance = (version, plain) => {
  const { side, point, chosen } = state;
  const match = version.matches[side][point];
  return plain.map((colours, s) => {
    const focus = s === side ? point : chosen ?? match;
    const near = neighboursOf(sides[s], focus).add(focus);
    const highlights = s === side ? [{ point, isMatch: false }] : match < 0 ? [] : [{ point: match, isMatch: true }];
    if (s !== side && chosen !== null && chosen !== match) highlights.push({ point: chosen, isMatch: false });
    const sizes = Array.from({ length: sides[s].count }, (_, i) => (near.has(i) ? 1.6 : 0.8));
    return { colours: fadedColours(colours, (i) => near.has(i)), sizes, highlights, focus };
  });
};

const appearance = () => {
  const { side, point, chosen } = state;
  const version = versions[state.version];
  const plain = coloursOf(version);
  if (side === null) return plain.map((colours) => ({ colours, sizes: null, highlights: [] }));
  if (pointName === "node") return networkAppearance(version, plain);
  if (version.map) return mapAppearance(version, plain);
  const warmth = Array.from(version.shares(side, point), warmthOf);
  const own = { colours: fadedColours(plain[side]), sizes: null, highlights: [{ point, isMatch: false }] };
  const match = version.sharp ? version.matches[side][point] : -1;
  const highlights = match < 0 ? [] : [{ point: match, isMatch: true }];
  if (chosen !== null && chosen !== match) highlights.push({ point: chosen, isMatch: false });
  const other = { colours: heatColours(warmth), sizes: warmth.map((t) => 0.7 + t), highlights };
  return side ? [other, own] : [own, other];
};

const draw = () => {
  const settings = { displayModeBar: false, responsive: true, scrollZoom: true };
  const now = appearance();
  return Promise.all(sides.map((side, s) => {
    if (side.dim === 3) side.camera = cameraNow(s); // keep the user's view
    return Plotly.react(plotOf(s), traces(side, now[s], s), layout(side, now[s].highlights), settings);
  }));
};

const select = (side, point, chosen = null) => {
  Object.assign(state, { side, point, chosen });
  showInfo();
  return draw();
};

const switchVersion = () => {
  state.version = 1 - state.version;
  showVersion(versions[state.version]);
  return select(state.side, state.point);
};

// The point that was hit, or, on a surface, the point nearest to the site that was hit.
const pointOf = ({ body }, { curveNumber, pointNumber }) => {
  if (curveNumber > 0) return pointNumber; // the body is the first trace; edges, rings and copies of points are never hit
  const first = pointNumber * body.neighbours;
  const shares = body.shares.subarray(first, first + body.neighbours);
  return body.near[first + shares.indexOf(Math.max(...shares))];
};

const showTooltip = (name) => {
  const tip = byId("tooltip");
  tip.textContent = name;
  tip.hidden = false;
  tip.style.left = `${Math.min(mouse.x + 14, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(mouse.y + 16, innerHeight - tip.offsetHeight - 8)}px`;
};

// Find a point by its label, else its number, else the beginning of its label; -1 if there is none.
const findPoint = ({ labels, count }, text) => {
  const known = labels ?? [];
  if (known.includes(text)) return known.indexOf(text);
  if (/^\d+$/.test(text) && Number(text) < count) return Number(text);
  return text ? known.findIndex((label) => label.toLowerCase().startsWith(text.toLowerCase())) : -1;
};

const toggleMatch = (event) => {
  const line = event.target.closest("tbody tr");
  if (!line) return;
  const point = Number(line.dataset.point);
  select(state.side, state.point, state.chosen === point ? null : point);
  byId("matches").querySelector(`tr[data-point="${point}"] button`).focus();
};

const submitSearch = (event) => {
  event.preventDefault();
  const s = Number(byId("find-side").value);
  const box = byId("find-point");
  const point = findPoint(sides[s], box.value.trim());
  box.setCustomValidity(point < 0 ? `${sides[s].name} has no such ${pointName}` : "");
  if (box.reportValidity()) select(s, point);
};

// In 3-D plotly reports a click when the mouse button goes down, even to rotate, and misses quick clicks. A finger
// hovers over nothing before it taps; what it hit is known a moment later.
const listenIn3D = (plot, side, s) => {
  let hovered = null;
  let pressed = [0, 0];
  let tapped = -Infinity;
  const hit = ({ points }) => {
    hovered = pointOf(side, points[0]);
    if (performance.now() - tapped > 400) return;
    tapped = -Infinity;
    select(s, hovered);
  };
  plot.on("plotly_hover", hit);
  plot.on("plotly_click", hit);
  plot.on("plotly_unhover", () => { hovered = null; });
  plot.addEventListener("pointerdown", ({ x, y }) => { pressed = [x, y]; }, { capture: true });
  plot.addEventListener("click", ({ x, y }) => {
    if (Math.hypot(x - pressed[0], y - pressed[1]) > 4) return;
    if (hovered === null) tapped = performance.now();
    else select(s, hovered);
  }, { capture: true });
  listenToRotation(plot, s);
};

const listenToDrawing = (side, s) => {
  const plot = plotOf(s);
  plot.on("plotly_hover", ({ points }) => showTooltip(named(side, pointOf(side, points[0]))));
  plot.addEventListener("mousemove", ({ x, y }) => Object.assign(mouse, { x, y }), { capture: true });
  plot.on("plotly_unhover", () => { byId("tooltip").hidden = true; });
  if (side.dim === 3) listenIn3D(plot, side, s);
  else plot.on("plotly_click", ({ points }) => select(s, pointOf(side, points[0])));
  labelCanvases(plot, side);
  listenToKeys(plot, side, s);
  listenToTouch(plot);
};

const listen = () => {
  sides.forEach(listenToDrawing);
  byId("matches").addEventListener("click", toggleMatch);
  byId("find").addEventListener("submit", submitSearch);
  byId("find-point").addEventListener("input", () => byId("find-point").setCustomValidity(""));
  byId("reset").addEventListener("click", () => select(null, null));
  byId("switch").addEventListener("click", switchVersion);
  byId("colour").addEventListener("change", () => { showColours(); draw(); });
  byId("link-views").addEventListener("change", ({ target }) => target.checked && copyView(0));
  for (const list of document.querySelectorAll("#unmatched, #surest")) {
    list.addEventListener("click", ({ target }) => {
      if (target.dataset.point) select(Number(target.dataset.side), Number(target.dataset.point));
    });
  }
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && state.side !== null) select(null, null);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { showColours(); showInfo(); draw(); });
};

const open = ({ agree, ...data }) => {
  ({ sides, pointName } = data);
  versions = data.versions.map((version) => new Version(version, sides.map(({ count }) => count)));
  sides.forEach(prepare);
  byId("versions").hidden = versions.length < 2;
  byId("link-option").hidden = !canLinkViews();
  byId("link-views").checked = agree;
  categoryColours = data.categories?.colours;
  showColourOptions();
  showVersion(versions[0]);
  showInfo();
  if (data.categories) drawCategories(data.categories);
  return draw();
};

try {
  const [data] = await Promise.all([unpack(JSON.parse(byId("data").textContent)), loadPlotly()]);
  await open(data);
  listen();
  document.documentElement.dataset.ready = "yes";
} catch (error) {
  byId("failure").hidden = false;
  byId("failure").textContent = `This page could not be drawn (${error}); it needs a browser of 2023 or later.`;
  throw error;
}
