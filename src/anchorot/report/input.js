// Keyboard and touch.

const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a.reduce((sum, value, k) => sum + value * b[k], 0);
const unit = (a) => a.map((value) => value / (Math.hypot(...a) || 1));

// The directions to the right and up in the current view of a side.
const directions = ({ dim, camera }) => {
  if (dim === 2) return [[1, 0], [0, 1]];
  const [eye, centre, up] = [camera.eye, camera.center, camera.up].map(({ x, y, z }) => [x, y, z]);
  const back = unit(eye.map((value, k) => value - centre[k]));
  const right = unit(cross(up, back));
  return [right, cross(back, right)];
};

const placeOf = ({ at }, point) => Object.values(at).map((column) => column[point]);

// The nearest point in the direction of an arrow key, at most 45 degrees off; the same point if there is none.
const neighbour = (side, from, [across, upwards]) => {
  const [right, above] = directions(side);
  const start = placeOf(side, from);
  let [best, least] = [from, Infinity];
  for (let point = 0; point < side.count; point++) {
    const way = placeOf(side, point).map((value, k) => value - start[k]);
    const [x, y] = [dot(way, right), dot(way, above)];
    const ahead = across * x + upwards * y;
    const length = Math.hypot(...way);
    if (ahead > 0 && ahead >= Math.abs(upwards * x) + Math.abs(across * y) && length < least) {
      [best, least] = [point, length];
    }
  }
  return best;
};

// The first point that arrow keys select: the best match of the selected point, else the point nearest to the centre.
const firstPoint = (side, s) => {
  if (state.side === 1 - s) {
    const [first] = versions[state.version].bestMatches(state.side, state.point);
    if (first) return first.point;
  }
  const lengths = Array.from({ length: side.count }, (_, point) => Math.hypot(...placeOf(side, point)));
  return lengths.indexOf(Math.min(...lengths));
};

const pointByKey = (side, s, key) => {
  if (key === "Home") return 0;
  if (key === "End") return side.count - 1;
  if (!ARROWS[key]) return null;
  return state.side === s ? neighbour(side, state.point, ARROWS[key]) : firstPoint(side, s);
};

const listenToKeys = (plot, side, s) => {
  plot.addEventListener("keydown", (event) => {
    const point = event.altKey || event.ctrlKey || event.metaKey ? null : pointByKey(side, s, event.key);
    if (point === null) return;
    event.preventDefault();
    select(s, point);
  });
};

// A finger scrolls the page until it taps a drawing. Then it rotates or moves the drawing until it taps elsewhere.
const listenToTouch = (plot) => {
  let isFinger = false;
  for (const kind of ["touchstart", "touchmove", "touchend", "touchcancel"]) {
    const keep = (event) => { if (!plot.classList.contains("active")) event.stopPropagation(); };
    plot.addEventListener(kind, keep, { capture: true, passive: true });
  }
  plot.addEventListener("pointerdown", ({ pointerType }) => { isFinger = pointerType === "touch"; }, { capture: true });
  plot.addEventListener("click", () => { if (isFinger) plot.classList.add("active"); }, { capture: true });
  document.addEventListener("pointerdown", ({ target }) => {
    if (!plot.contains(target)) plot.classList.remove("active");
  }, { capture: true });
};

// Label plotly's canvases for screen readers, and hide its svg elements from them.
const labelCanvases = (plot, { name, count }) => {
  plot.querySelectorAll("canvas").forEach((canvas) => {
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${name}, ${count} points`);
  });
  plot.querySelectorAll("svg").forEach((drawn) => drawn.setAttribute("aria-hidden", "true"));
};
