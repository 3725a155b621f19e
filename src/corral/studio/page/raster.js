"use strict";
// Many points as one image.  One pass over the coordinates draws what is looked at, also without a
// graphics card, and again for each step of a zoom.
const raster = (() => {
  const LEAST = 2.5, MOST = 12, CROWD = 160;  // diameters in pixels; CROWD / sqrt(points) in between
  const PALE = 0x40;  // opacity of a point that is not selected

  // A disc: steps from its middle in an image of this width, each with how much of it is covered.
  function disc(radius, width) {
    const reach = Math.ceil(radius + 0.5), steps = [], covers = [];
    for (let dy = -reach; dy <= reach; dy++) {
      for (let dx = -reach; dx <= reach; dx++) {
        const cover = Math.min(1, radius + 0.5 - Math.hypot(dx, dy));
        if (cover > 0) { steps.push(dy * width + dx); covers.push(Math.round(255 * cover)); }
      }
    }
    return {steps: Int32Array.from(steps), covers: Uint8Array.from(covers)};
  }

  // Steps through all points in a mixed order, so that no cluster lies on top because it comes last.
  function mixed(n) {
    const common = (a, b) => (b ? common(b, a % b) : a);
    let step = Math.max(1, Math.round(0.618 * n));
    while (common(step, n) !== 1) step += 1;
    return step;
  }

  // The image of a part of the plane: x and y of its lower left corner, its width and its height in
  // units of the axes, and the sides in pixels.  A margin around it holds discs that reach into it.
  function image(points, part, Pixels) {
    const {x, y, colour, full} = points, n = x.length, ratio = window.devicePixelRatio || 1;
    const across = part.columns / part.dw, up = part.rows / part.dh;
    const margin = Math.ceil(MOST * ratio) + 4, columns = part.columns + 2 * margin, rows = part.rows + 2 * margin;
    const half = margin / 2, right = columns - half, top = rows - half;
    const places = new Int32Array(n);
    let seen = 0;
    for (let i = 0; i < n; i++) {
      const column = (x[i] - part.x) * across + margin, row = (y[i] - part.y) * up + margin;
      const inside = column >= half && column < right && row >= half && row < top;
      places[i] = inside ? Math.floor(row) * columns + Math.floor(column) : -1;
      seen += inside;
    }
    const diameter = Math.min(MOST, Math.max(LEAST, CROWD / Math.sqrt(seen)));
    const {steps, covers} = disc(diameter * ratio / 2, columns), step = mixed(n);
    const made = new Pixels(columns * rows, [rows, columns]), pixels = new Uint32Array(made.buffer);
    for (const level of [0, 1]) {  // selected points lie on top
      for (let turn = 0, i = 0; turn < n; turn++, i += i + step < n ? step : step - n) {
        const place = places[i];
        if (place < 0 || full[i] !== level) continue;
        const ink = colour[i] & 0xffffff;
        for (let s = 0; s < steps.length; s++) {
          const cover = level ? covers[s] : covers[s] * PALE >> 8, at = place + steps[s];
          // A border that covers less than what is there already would make it fainter.
          if (cover >= pixels[at] >>> 24) pixels[at] = ink | cover << 24;
        }
      }
    }
    return {
      image: [made],
      x: [part.x - margin / across],
      y: [part.y - margin / up],
      dw: [columns / across],
      dh: [rows / up],
    };
  }

  let following = null;

  // Draws the points of a figure, and again whenever they or its ranges change.  Instead of those of
  // the figure before.
  function follow(figure, points) {
    following?.();
    following = null;
    const source = figure.renderers.map((drawn) => drawn.data_source).find(({name}) => name === "image");
    if (!source) return;  // few points: Bokeh draws them
    const {x_range, y_range} = figure, Pixels = source.data.image[0].constructor;
    const side = (name) => (figure.properties[name].is_unset ? 0 : figure[name]);
    let asked = 0;
    function draw() {
      asked = 0;
      const ratio = window.devicePixelRatio || 1, part = {
        x: x_range.start, y: y_range.start, dw: x_range.end - x_range.start, dh: y_range.end - y_range.start,
        columns: Math.round(side("inner_width") * ratio), rows: Math.round(side("inner_height") * ratio),
      };
      if (!(part.dw > 0 && part.dh > 0 && part.columns && part.rows)) return;  // not laid out yet
      source.data = image(points.data, part, Pixels);
      requestAnimationFrame(() => performance.mark("points drawn"));  // after Bokeh has drawn it
    }
    const soon = () => { asked ||= requestAnimationFrame(draw); };
    const heard = [points.properties.data, figure.properties.inner_width, figure.properties.inner_height];
    for (const range of [x_range, y_range]) heard.push(range.properties.start, range.properties.end);
    for (const property of heard) property.change.connect(soon);
    following = () => { for (const property of heard) property.change.disconnect(soon); };
    draw();
  }

  return follow;
})();
