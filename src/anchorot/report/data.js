// The data embedded in the page, and the masses of the plan.

const byId = (id) => document.getElementById(id);

const inflate = (text) => {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
};

const ARRAYS = {
  ...{ f4: Float32Array, f8: Float64Array },
  ...{ u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array },
};

const unpack = async (value) => {
  if (Array.isArray(value)) return Promise.all(value.map(unpack));
  if (value === null || typeof value !== "object") return value;
  if (value.dtype) return new ARRAYS[value.dtype](await inflate(value.data).arrayBuffer());
  const keys = Object.keys(value);
  const values = await Promise.all(keys.map((key) => unpack(value[key])));
  return Object.fromEntries(keys.map((key, i) => [key, values[i]]));
};

const loadPlotly = async () => {
  const script = document.createElement("script");
  script.textContent = await inflate(byId("plotly").textContent).text();
  document.head.append(script);
};

// One version of the result: masses to highlight, and the match of every point, or -1.
class Version {
  constructor({ plan, spread, matches, colours, confidence, sharp, map, text }, [n, m]) {
    const { weights, matched, best, whole } = plan;
    Object.assign(this, { weights, matched, best, whole, spread, matches, colours, confidence, sharp, map, text, n, m });
    const decoded = (_, code) => (code ? Math.exp(whole.low + whole.step * (code - 1)) : 0);
    if (whole) this.levels = Float64Array.from({ length: 256 }, decoded);
  }

  // Shares of a point's weight at every point of the other side; side 0 has the rows of the plan.
  shares(side, point) {
    const { whole, levels, m } = this;
    const weight = this.weights[side][point];
    const found = new Float64Array(side ? this.n : m);
    if (weight === 0) return found;
    for (let k = 0; whole && k < found.length; k++) {
      const [i, j] = side ? [k, point] : [point, k];
      found[k] = (levels[whole.codes[i * m + j]] * whole.rows[i] * whole.columns[j]) / weight;
    }
    const { count, index, share } = this.best[side]; // these are exact
    for (let k = point * count; k < (point + 1) * count; k++) found[index[k]] = share[k];
    return found;
  }

  bestMatches(side, point) {
    const { count, index, share } = this.best[side];
    const places = Array.from({ length: Math.min(count, 10) }, (_, k) => point * count + k);
    return places.map((k) => ({ point: index[k], share: share[k] })).filter((match) => match.share > 0);
  }

  // A map need not cover the second side: its points do not count as unmatched.
  unmatched(side) {
    if (this.map && side === 1) return [];
    return Array.from(this.matches[side].keys()).filter((point) => this.matches[side][point] < 0);
  }
}
