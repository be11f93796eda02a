// Views in space that turn together.

const LINGER = 500; // milliseconds that a view may still move once it was let go

let watched = null; // the side in the reader's hand
let restless = 0; // when it will have come to rest

let follower = null; // the side that is being turned after the other
let isLate = false; // whether the other was turned again meanwhile

const plotOf = (s) => byId(`plot-${s}`);
const reach = ({ x, y, z }) => Math.hypot(x, y, z);
const canTurnTogether = () => sides.every(({ dim }) => dim === 3);

// Plotly tells of no turn by a finger, nor of one that ends outside the drawing: its own camera has to be asked.
const cameraNow = (s) => plotOf(s)._fullLayout?.scene?._scene?.getCamera() ?? sides[s].camera;

// The other side looks from the same direction, as near in proportion.
const follow = async (leader) => {
  if (follower !== null) {
    isLate = true;
    return;
  }
  follower = 1 - leader;
  const [own, other] = [sides[leader], sides[follower]];
  const ratio = reach(other.home.eye) / reach(own.home.eye);
  const { x, y, z } = own.camera.eye;
  other.camera = { ...own.camera, eye: { x: x * ratio, y: y * ratio, z: z * ratio } };
  await Plotly.relayout(plotOf(follower), { "scene.camera": other.camera });
  follower = null;
  if (!isLate) return;
  isLate = false;
  await follow(leader);
};

const turn = (s, camera) => {
  if (JSON.stringify(camera) === JSON.stringify(sides[s].camera)) return;
  sides[s].camera = camera;
  if (byId("together").checked && canTurnTogether()) follow(s);
};

const look = () => {
  turn(watched, cameraNow(watched));
  if (performance.now() < restless) requestAnimationFrame(look);
  else watched = null;
};

const watch = (s) => {
  const isIdle = watched === null;
  watched = s;
  restless = performance.now() + LINGER;
  if (isIdle) look();
};

const listenToTurns = (plot, s) => {
  plot.addEventListener("pointerdown", () => watch(s), { capture: true });
  plot.addEventListener("pointermove", ({ buttons }) => { if (buttons) watch(s); }, { capture: true });
  plot.addEventListener("wheel", () => watch(s), { capture: true, passive: true });
  for (const kind of ["pointermove", "pointerup", "touchmove", "touchend"]) {
    document.addEventListener(kind, () => { if (watched === s) watch(s); }, { capture: true, passive: true });
  }
  plot.addEventListener("dblclick", async () => {
    await Plotly.relayout(plot, { "scene.camera": sides[s].home });
    turn(s, sides[s].home);
  });
};
