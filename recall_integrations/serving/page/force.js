// Places for the nodes of a graph: forces between them, from a spiral, the same every time.

const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/** Places in a field of `width` × `height` for nodes with `weight`, and links `[i, j, strength]`. */
export function layout(nodes, links, width, height, rounds = 260) {
  const n = nodes.length;
  if (!n) return [];
  const spread = Math.sqrt((width * height) / n);
  const at = nodes.map((_, i) => {
    const radius = spread * 0.55 * Math.sqrt(i + 0.5);
    return { x: width / 2 + radius * Math.cos(i * GOLDEN), y: height / 2 + radius * Math.sin(i * GOLDEN) * (height / width) };
  });
  for (let round = 0; round < rounds; round += 1) {
    const heat = (width / 12) * (1 - round / rounds);
    const force = at.map((p) => ({ x: (width / 2 - p.x) * 0.06, y: (height / 2 - p.y) * 0.09 }));
    for (let i = 0; i < n; i += 1) {
      for (let j = i + 1; j < n; j += 1) {
        const dx = at[i].x - at[j].x || 0.01 * (i - j);
        const dy = at[i].y - at[j].y || 0.01;
        const far = Math.max(dx * dx + dy * dy, 1);
        const push = (spread * spread * 0.55) / far;
        force[i].x += dx * push / Math.sqrt(far) * 4; force[i].y += dy * push / Math.sqrt(far) * 4;
        force[j].x -= dx * push / Math.sqrt(far) * 4; force[j].y -= dy * push / Math.sqrt(far) * 4;
      }
    }
    for (const [i, j, strength] of links) {
      const dx = at[i].x - at[j].x;
      const dy = at[i].y - at[j].y;
      const pull = (Math.hypot(dx, dy) / spread) * 0.18 * strength;
      force[i].x -= dx * pull; force[i].y -= dy * pull;
      force[j].x += dx * pull; force[j].y += dy * pull;
    }
    for (let i = 0; i < n; i += 1) {
      const size = Math.hypot(force[i].x, force[i].y) || 1;
      const step = Math.min(size, heat);
      at[i].x += (force[i].x / size) * step;
      at[i].y += (force[i].y / size) * step;
    }
  }
  return fitted(at, width, height);
}

function fitted(at, width, height) {
  const side = 56;
  const xs = at.map((p) => p.x);
  const ys = at.map((p) => p.y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = (value, low, high, size, margin) => (high - low < 1 ? size / 2 : margin + ((value - low) / (high - low)) * (size - 2 * margin));
  return at.map((p) => ({ x: scale(p.x, left, right, width, side), y: scale(p.y, top, bottom, height, 28) }));
}
