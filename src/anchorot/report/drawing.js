// Colours, traces and layouts for plotly.

const DIMMED = 0.06; // opacity of the edges that do not belong to the selected node
const SPARSE = 200; // edges that leave the nodes of a drawing visible at full opacity
const FAINTEST = 0.15; // opacity of the edges of large networks: they are one shade, on which nodes stand out
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;" }; // plotly interprets texts as HTML
const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const rgb = ([red, green, blue]) => `rgb(${Math.round(red)},${Math.round(green)},${Math.round(blue)})`;
const mix = (a, b, t) => a.map((value, k) => value + (b[k] - value) * t);

// Colours of many points are flat arrays: red, green, blue of the first, of the second, ...
const fadedColours = (colours, isKept = () => false) => {
  const blank = parse(themed("faded"));
  const faded = (value, k) => (isKept(Math.floor(k / 3)) ? value : value + (blank[k % 3] - value) * 0.78);
  return Float32Array.from(colours, faded);
};

// The same colour means the same share on every page; the cube root makes a share of a thousandth visible.
const warmthOf = (share) => Math.cbrt(Math.min(share, 1));

const heatColours = (warmth) => {
  const stops = themed("heat").split(" ").map(parse);
  const found = warmth.map((t) => {
    const at = t * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    return mix(stops[k], stops[k + 1], at - k);
  });
  return Float32Array.from(found.flat());
};

// Colours of the probability that matches are correct; grey for unmatched points.
const confidenceColours = (chances) => {
  const stops = themed("confidence").split(" ").map(parse);
  const none = parse(themed("unmatched"));
  const found = new Float32Array(3 * chances.length);
  chances.forEach((chance, i) => {
    const at = Math.min(Math.max(chance, 0), 1) * (stops.length - 1);
    const k = Math.min(Math.floor(at), stops.length - 2);
    found.set(Number.isNaN(chance) ? none : mix(stops[k], stops[k + 1], at - k), 3 * i);
  });
  return found;
};

// Colours of sites on a surface or a tree, interpolated from nearby points.
const blendedColours = ({ near, shares, neighbours }, colours) => {
  const found = new Array(near.length / neighbours);
  for (let site = 0; site < found.length; site++) {
    const sum = [0, 0, 0];
    let total = 0;
    for (let k = site * neighbours; k < (site + 1) * neighbours; k++) {
      total += shares[k];
      for (let c = 0; c < 3; c++) sum[c] += shares[k] * colours[3 * near[k] + c];
    }
    found[site] = rgb(sum.map((value) => value / total));
  }
  return found;
};

const columns = (values, dim) => {
  const found = Array.from({ length: dim }, () => new Float32Array(values.length / dim));
  values.forEach((value, k) => { found[k % dim][Math.floor(k / dim)] = value; });
  return found;
};

const coordinates = (values, dim) => Object.fromEntries(columns(values, dim).map((column, k) => ["xyz"[k], column]));

const named = (side, point) => (side.labels ? side.labels[point] : `${pointName} ${point}`);

const home = ([x, y, z]) => ({ eye: { x, y, z }, center: { x: 0, y: 0, z: 0 }, up: { x: 0, y: 0, z: 1 } });

// Precompute everything that does not depend on the colours.
const prepare = (side) => {
  const { body, dim, count } = side;
  const flat = count > 3000 || body?.edges?.length > 10000 ? "scattergl" : "scatter";
  side.type = dim === 3 ? "scatter3d" : flat;
  side.size = dim === 3 ? Math.min(Math.max(75 / Math.sqrt(count), 2.4), 9) : Math.min(Math.max(110 / Math.sqrt(count), 4), 15);
  side.at = coordinates(side.points, dim);
  side.isCovered = body?.kind === "mesh" && count > 2000; // dots would hide the coloured surface
  if (dim === 3) side.camera = side.home = home(side.eye);
  if (!body) return;
  body.at = coordinates(body.sites, dim);
  if (body.kind === "mesh") body.corners = columns(body.faces, 3);
  if (body.kind === "lines") {
    const at = body.at;
    const joined = (isDrawn) => {
      const ends = [];
      for (let k = 0; k < body.edges.length; k += 2) if (isDrawn(k / 2)) ends.push(body.edges[k], body.edges[k + 1], -1);
      const broken = (column) => Float32Array.from(ends, (site) => (site < 0 ? NaN : column[site]));
      return [ends, Object.fromEntries(Object.entries(at).map(([axis, column]) => [axis, broken(column)]))];
    };
    [body.ends, body.at] = joined((edge) => !body.common || body.common[edge]);
    if (!body.common) return;
    side.veil = Math.min(Math.max(Math.sqrt(SPARSE / (body.edges.length / 2)), FAINTEST), 1);
    side.odd = joined((edge) => !body.common[edge])[1]; // edges that the other network lacks
    side.edgesAt = (node, isCommon) => (
      joined((edge) => Boolean(body.common[edge]) === isCommon && body.edges.subarray(2 * edge, 2 * edge + 2).includes(node))[1]);
  }
};

// The nodes of a network that are joined with one.
const neighboursOf = ({ body: { edges } }, node) => {
  const found = new Set();
  edges.forEach((end, k) => { if (end === node) found.add(edges[k ^ 1]); });
  return found;
};

const bodyTrace = ({ body, dim, type, at }, colours) => {
  const trace = { type, ...(body?.at ?? at), hoverinfo: "skip" };
  if (!body) return { ...trace, visible: false };
  if (body.kind === "dots") {
    return { ...trace, mode: "markers", marker: { size: dim === 3 ? 1 : 2, color: themed("edge") } };
  }
  if (body.kind === "lines") {
    const coloured = dim === 3 && blendedColours(body, colours);
    const plain = themed(body.common ? "common" : "edge");
    const color = coloured ? body.ends.map((site) => coloured[Math.max(site, 0)]) : plain;
    return { ...trace, mode: "lines", line: { width: dim === 3 ? 5 : 1, color } };
  }
  const [i, j, k] = body.corners;
  return {
    ...trace,
    type: "mesh3d",
    ...{ i, j, k },
    vertexcolor: blendedColours(body, colours),
    lighting: { ambient: 0.72, diffuse: 0.5, specular: 0.06, roughness: 0.8, fresnel: 0.08 },
    lightposition: { x: 300, y: -900, z: 1200 },
    hoverinfo: "none",
  };
};

const lines = (type, places, width, color, opacity = 1) => (
  { type, ...places, mode: "lines", hoverinfo: "skip", line: { width, color }, opacity });

const lackingColour = (s) => themed(s ? "new" : "lost");

// The edges of a node (-1 for none), and above them the node and its neighbours, which are larger than all others.
const focusTraces = ({ edgesAt, type, at }, s, focus, { size, ...marker }) => {
  const largest = Math.max(...size);
  const kept = size.flatMap((value, k) => (value === largest ? [k] : []));
  const only = (values) => kept.map((k) => values[k]);
  const places = Object.fromEntries(Object.entries(at).map(([axis, column]) => [axis, only(column)]));
  return [
    lines(type, edgesAt(focus, true), 1.6, themed("common")),
    lines(type, edgesAt(focus, false), 2, lackingColour(s)),
    { type, ...places, mode: "markers", marker: { ...marker, size: only(size), color: only(marker.color) }, hoverinfo: "skip" },
  ];
};

// Highlighted points are rings, or balls in 3-D; the match is a diamond.
const highlightTrace = ({ dim, type, at, size }, highlights) => {
  const places = Object.entries(at).map(([axis, column]) => [axis, highlights.map(({ point }) => column[point])]);
  const open = dim === 3 ? "" : "-open";
  const marker = {
    size: highlights.map(() => (dim === 3 ? 1.6 * size + 3 : size + 10)), // plotly halves sizes in arrays in space
    symbol: highlights.map(({ isMatch }) => `${isMatch ? "diamond" : "circle"}${open}`),
    color: themed("accent"),
    opacity: 1,
    line: { width: dim === 3 ? 0 : 3 },
  };
  return { type, ...Object.fromEntries(places), mode: "markers", marker, hoverinfo: "skip" };
};

// Traces of a side with its current colours, relative sizes of points (null for 1), highlighted points, and in a network
// the node whose edges stand out (null for all).
const traces = (side, { colours, sizes, highlights, focus = null }, s) => {
  const { dim, type, at, count } = side;
  const onMesh = side.body?.kind === "mesh"; // the surface has the same colour: points are drawn small and darker
  if (side.isCovered) return [bodyTrace(side, colours), { type, ...at, visible: false }, highlightTrace(side, highlights)];
  const shade = onMesh ? mix([0, 0, 0], parse(themed("ink")), 0.2) : null;
  const color = Array.from({ length: count }, (_, i) => {
    const own = [0, 1, 2].map((c) => colours[3 * i + c]);
    return rgb(shade ? mix(own, shade, 0.3) : own);
  });
  const size = Array.from({ length: count }, (_, i) => side.size * (onMesh ? 0.6 : 1) * (sizes ? sizes[i] : 1));
  const marker = { size, color, opacity: 1, line: { color: themed("paper"), width: dim === 3 ? 0 : 1 } };
  const [veil, oddVeil] = focus === null ? [side.veil ?? 1, Math.min(2 * side.veil, 1)] : [DIMMED, DIMMED];
  return [ // from the bottom to the top: only edges of the selected node cover others
    { ...bodyTrace(side, colours), opacity: veil },
    ...(side.odd ? [lines(type, side.odd, 1.2, lackingColour(s), oddVeil)] : []), // those that the other lacks
    { name: "points", type, ...at, mode: "markers", marker, hoverinfo: "none" },
    ...(focus === null ? [] : focusTraces(side, s, focus, marker)),
    highlightTrace(side, highlights),
  ];
};

// The matrix of matched categories.
const drawCategories = ({ rows, columns, shares, counts }) => {
  const cut = (values) => rows.map((_, k) => Array.from(values.subarray(k * columns.length, (k + 1) * columns.length)));
  const stops = themed("heat").split(" ");
  const names = (texts) => texts.map((text) => text.replace(/[&<>]/g, (letter) => ENTITIES[letter]));
  const showsNames = byId("categories").clientWidth - 200 > 11 * columns.length; // else a tap on a cell shows them
  const size = Math.min(Math.max(360, 17 * rows.length + 160), 1100);
  const trace = {
    type: "heatmap",
    ...{ z: cut(shares), customdata: cut(counts), x: columns.map((_, k) => k), y: rows.map((_, k) => k) },
    ...{ zmin: 0, zmax: 1, xgap: 1, ygap: 1, colorscale: stops.map((stop, k) => [k / (stops.length - 1), stop]) },
    text: rows.map((row) => columns.map((column) => names([`${row} → ${column}`])[0])),
    hovertemplate: "%{text}<br>%{z:.1%} of the category, %{customdata} points<extra></extra>",
    colorbar: { tickformat: ".0%", thickness: 12, outlinewidth: 0 },
  };
  const axis = (texts) => ({
    ...{ tickvals: texts.map((_, k) => k), ticktext: names(texts).map((text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text)) },
    ...{ automargin: true, showgrid: false, zeroline: false, fixedrange: true, tickfont: { size: texts.length > 30 ? 10 : 12 } },
  });
  const plotLayout = {
    ...{ margin: { l: 8, r: 8, t: 8, b: 8 }, height: size, font: { color: themed("ink") } },
    ...{ paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)" },
    ...{ xaxis: { ...axis(columns), tickangle: -60, showticklabels: showsNames }, yaxis: { ...axis(rows), autorange: "reversed" } },
  };
  return Plotly.react(byId("categories"), [trace], plotLayout, { displayModeBar: false, responsive: true });
};

// A name on a pin, visible even if the point is behind the surface.
const pin = (side, point) => {
  const place = Object.fromEntries(Object.entries(side.at).map(([axis, column]) => [axis, column[point]]));
  return {
    ...place,
    text: named(side, point).replace(/[&<>]/g, (letter) => ENTITIES[letter]),
    font: { size: 13, color: themed("ink") },
    bgcolor: themed("paper"),
    bordercolor: themed("line"),
    borderpad: 4,
    showarrow: true,
    arrowcolor: themed("accent"),
    arrowhead: 6,
    arrowwidth: 1.5,
    arrowsize: 1,
    ax: 34,
    ay: -52,
  };
};

const layout = (side, highlights) => {
  const half = side.dim === 3 ? 0.52 : 0.56;
  const axis = () => ({ visible: false, showspikes: false, range: [-half, half] }); // plotly writes into ranges
  const bare = {
    margin: { l: 0, r: 0, t: 0, b: 0 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    hovermode: "closest",
    uirevision: "kept", // keep the user's view
  };
  if (side.dim === 2) return { ...bare, dragmode: "pan", xaxis: axis(), yaxis: { ...axis(), scaleanchor: "x" } };
  return {
    ...bare,
    scene: {
      ...{ xaxis: axis(), yaxis: axis(), zaxis: axis() },
      aspectmode: "cube",
      dragmode: "turntable",
      camera: side.camera,
      annotations: highlights.map(({ point }) => pin(side, point)),
    },
  };
};
