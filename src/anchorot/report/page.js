// What the reader does, and what the page answers.

const state = { side: null, point: null, chosen: null, answer: 0 }; // the lit point, and the match chosen in the table
const mouse = { x: 0, y: 0 }; // plotly does not say where it is in space
let sides, answers, ofCategories;

const coloursOf = ({ confidence, colours }) => {
  const choice = byId("colour").value;
  if (choice === "category") return ofCategories;
  return confidence && choice === "confidence" ? confidence.map(confident) : colours;
};

// On a map colours stay, since they tell where things are: a pin shows the point, others what it goes to or comes from.
const onMap = (answer, plain) => {
  const { side, point, chosen } = state;
  const found = answer.bestMatches(side, point).map((match) => match.point);
  const shown = chosen === null ? found : [chosen];
  const marks = [[{ point, isMatch: false }], shown.map((match) => ({ point: match, isMatch: true }))];
  return plain.map((colours, s) => ({ colours, sizes: null, marks: marks[s === side ? 0 : 1] }));
};

const looks = () => {
  const { side, point, chosen } = state;
  const answer = answers[state.answer];
  const plain = coloursOf(answer);
  if (side === null) return plain.map((colours) => ({ colours, sizes: null, marks: [] }));
  if (answer.map) return onMap(answer, plain);
  const warmth = Array.from(answer.shares(side, point), warmthOf);
  const own = { colours: faded(plain[side]), sizes: null, marks: [{ point, isMatch: false }] };
  const match = answer.sharp ? answer.matches[side][point] : -1;
  const marks = match < 0 ? [] : [{ point: match, isMatch: true }];
  if (chosen !== null && chosen !== match) marks.push({ point: chosen, isMatch: false });
  const other = { colours: heated(warmth), sizes: warmth.map((t) => 0.7 + t), marks };
  return side ? [other, own] : [own, other];
};

const draw = () => {
  const settings = { displayModeBar: false, responsive: true, scrollZoom: true };
  const now = looks();
  return Promise.all(sides.map((side, s) => {
    if (side.dim === 3) side.camera = cameraNow(s); // the view stays as the reader turned it
    return Plotly.react(plotOf(s), traces(side, now[s], s), layout(side, now[s].marks), settings);
  }));
};

const show = (side, point, chosen = null) => {
  Object.assign(state, { side, point, chosen });
  tell();
  return draw();
};

const swap = () => {
  state.answer = 1 - state.answer;
  tellAnswer(answers[state.answer]);
  return show(state.side, state.point);
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
  const hit = ({ points }) => {
    below = pointOf(side, points[0]);
    if (performance.now() - tapped > 400) return;
    tapped = -Infinity;
    show(s, below);
  };
  plot.on("plotly_hover", hit);
  plot.on("plotly_click", hit);
  plot.on("plotly_unhover", () => { below = null; });
  plot.addEventListener("pointerdown", ({ x, y }) => { pressed = [x, y]; }, { capture: true });
  plot.addEventListener("click", ({ x, y }) => {
    if (Math.hypot(x - pressed[0], y - pressed[1]) > 4) return;
    if (below === null) tapped = performance.now();
    else show(s, below);
  }, { capture: true });
  listenToTurns(plot, s);
};

const listenToDrawing = (side, s) => {
  const plot = plotOf(s);
  plot.on("plotly_hover", ({ points }) => hint(named(side, pointOf(side, points[0]))));
  plot.addEventListener("mousemove", ({ x, y }) => Object.assign(mouse, { x, y }), { capture: true });
  plot.on("plotly_unhover", () => { byId("tip").hidden = true; });
  if (side.dim === 3) listenInSpace(plot, side, s);
  else plot.on("plotly_click", ({ points }) => show(s, pointOf(side, points[0])));
  labelCanvases(plot, side);
  listenToKeys(plot, side, s);
  listenToFingers(plot);
};

const listen = () => {
  sides.forEach(listenToDrawing);
  byId("matches").addEventListener("click", choose);
  byId("find").addEventListener("submit", find);
  byId("find-point").addEventListener("input", () => byId("find-point").setCustomValidity(""));
  byId("reset").addEventListener("click", () => show(null, null));
  byId("swap").addEventListener("click", swap);
  byId("colour").addEventListener("change", () => { tellColours(); draw(); });
  byId("together").addEventListener("change", ({ target }) => target.checked && follow(0));
  for (const list of document.querySelectorAll("#unmatched, #sure")) {
    list.addEventListener("click", ({ target }) => {
      if (target.dataset.point) show(Number(target.dataset.side), Number(target.dataset.point));
    });
  }
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && state.side !== null) show(null, null);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { tellColours(); tell(); draw(); });
};

const open = ({ agree, ...data }) => {
  sides = data.sides;
  answers = data.answers.map((answer) => new Answer(answer, sides.map(({ count }) => count)));
  sides.forEach(prepare);
  byId("other-answer").hidden = answers.length < 2;
  byId("turn").hidden = !canTurnTogether();
  byId("together").checked = agree;
  ofCategories = data.categories?.colours;
  offerColours();
  tellAnswer(answers[0]);
  tellColours();
  tell();
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
