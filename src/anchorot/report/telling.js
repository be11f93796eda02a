// What the page says beside the drawings.

const TICKS = [0, 0.01, 0.1, 0.5, 1]; // shares on the scale of colours
const MANY = 200; // unmatched points that are listed

const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

const percent = (share) => `${(100 * share).toPrecision(3)} %`;
const effective = (number) => (Number.isNaN(number) ? "none" : number.toPrecision(number < 10 ? 2 : 3));

const row = (answer, side, { point, share }, together, isMatch) => {
  const name = named(sides[1 - side], point);
  const isChosen = state.chosen === point;
  const button = element("button", { type: "button", textContent: name, title: `${name} (number ${point})` });
  button.setAttribute("aria-pressed", String(isChosen));
  if (isMatch) button.prepend(element("span", { className: "match", title: "the match", textContent: "◆ " }));
  const chance = answer.confidence && isMatch ? answer.confidence[0][side ? point : state.point] : NaN;
  const sure = Number.isNaN(chance) ? "" : percent(chance);
  const contents = [button, percent(share), percent(together), effective(answer.spread[1 - side][point]), sure];
  const line = element("tr", {}, ...contents.map((content) => element("td", {}, content)));
  line.classList.toggle("chosen", isChosen);
  line.dataset.point = point;
  return line;
};

const tellScale = () => {
  byId("scale-bar").style.background = `linear-gradient(90deg, ${themed("heat").split(" ").join(", ")})`;
  byId("scale-ticks").replaceChildren(...TICKS.map((share) => {
    const tick = element("span", { textContent: `${100 * share} %` });
    tick.style.left = `${100 * warmthOf(share)}%`;
    return tick;
  }));
};

// What is missing of a point's mass.
const lack = (answer, side, point, found) => {
  if (!found.length && answer.map && side === 1) return `No point of ${sides[0].name} goes here.`;
  if (!found.length) return "No mass: this point has no match.";
  if (answer.matches[side][point] >= 0) return "";
  return `Unmatched: only ${percent(answer.matched[side][point])} of its weight has a match.`;
};

const titleOf = ({ map }, side, point) => {
  const [own, name] = [named(sides[side], point), sides[side].name];
  if (!map) return `Where the mass of ${own} in ${name} ${side ? "comes from" : "goes"}`;
  return side ? `What goes to ${own} of ${name}` : `Where ${own} of ${name} goes`;
};

const tellPoint = (answer, side, point) => {
  const found = answer.bestMatches(side, point);
  const title = titleOf(answer, side, point);
  byId("found-title").textContent = title;
  const match = answer.sharp ? answer.matches[side][point] : -1;
  let together = 0;
  const rows = found.map((one) => row(answer, side, one, (together += one.share), one.point === match || (answer.map && side === 1)));
  byId("matches").tBodies[0].replaceChildren(...rows);
  byId("matches").hidden = !found.length;
  byId("matches").classList.toggle("map", answer.map); // shares of a map say nothing
  byId("matches").classList.toggle("sure", Boolean(answer.confidence));
  byId("scale").hidden = byId("spread").hidden = !found.length || answer.map; // a map has no doubts to show
  byId("no-mass").textContent = lack(answer, side, point, found);
  byId("no-mass").hidden = !byId("no-mass").textContent;
  const number = effective(answer.spread[side][point]);
  const chance = match < 0 ? undefined : answer.confidence?.[0][side ? match : point];
  const sure = chance === undefined ? "" : `. Confidence of its match: ${percent(chance)}`;
  byId("spread").textContent = `Effective number of matches: ${number}${sure}`;
  const best = found.length && `best match ${named(sides[1 - side], found[0].point)}, ${percent(found[0].share)}`;
  byId("status").textContent = `${title}: ${best || "no mass"}. ${answer.map ? "" : byId("spread").textContent}`;
};

const offerColours = () => {
  const offered = { place: true, category: Boolean(ofCategories), confidence: answers.some(({ confidence }) => confidence) };
  for (const option of byId("colour").options) option.hidden = option.disabled = !offered[option.value];
  byId("colouring").hidden = !offered.category && !offered.confidence;
};

const tellColours = () => {
  const isShown = answers[state.answer].confidence && byId("colour").value === "confidence";
  byId("sure-scale").hidden = !isShown;
  byId("sure-bar").style.background = `linear-gradient(90deg, ${themed("sure").split(" ").join(", ")})`;
};

const unmatchedList = (answer, { name, count }, s) => {
  const found = answer.unmatched(s);
  if (!found.length) return [];
  const buttons = found.slice(0, MANY).map((point) => {
    const button = element("button", { type: "button", textContent: named(sides[s], point) });
    Object.assign(button.dataset, { side: s, point });
    return button;
  });
  const more = found.length > MANY ? [`and ${found.length - MANY} more`] : [];
  const summary = element("summary", { textContent: `${name}: ${found.length} of ${count} points unmatched, grey` });
  return [element("details", {}, summary, element("div", {}, ...buttons, ...more))];
};

const tellAnswer = (answer) => {
  byId("unmatched").replaceChildren(...sides.flatMap((side, s) => unmatchedList(answer, side, s)));
  byId("answer").textContent = answer.text;
  const unsure = byId("colour").querySelector("[value=confidence]"); // of the other answer it is not known
  unsure.disabled = !answer.confidence;
  if (unsure.disabled && unsure.selected) byId("colour").value = "place";
  tellColours();
  byId("swap").setAttribute("aria-pressed", String(state.answer === 1));
};

const tell = () => {
  const { side, point } = state;
  byId("rest").hidden = side !== null;
  byId("found").hidden = side === null;
  byId("status").textContent = "";
  tellScale();
  if (side !== null) tellPoint(answers[state.answer], side, point);
};
