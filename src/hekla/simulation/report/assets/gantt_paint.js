// Paints bars, in one of two ways. A few thousand are drawn one by one, with gaps and names. More are laid down as
// paint: every bar colours each pixel by the part of it that it covers, so that a picture of a hundred thousand bars
// shows how full the cluster was instead of whatever was drawn last.

const FEW_BARS = 4000;

function paintBars(context, model, rows, area, colours) {
  const count = countInView(model, rows, FEW_BARS);
  if (count <= FEW_BARS) return paintOneByOne(context, model, rows, area, colours);
  return layPaint(context, model, rows, area, colours);
}

function countInView(model, rows, enough) {
  let count = 0;
  for (let node = rows.first(); node < rows.last() && count <= enough; node++) {
    const [first, end] = barsInView(model, node, chosen.from, chosen.to);
    count += end - first;
  }
  return count;
}

function paintOneByOne(context, model, rows, area, colours) {
  const per = area.width / (chosen.to - chosen.from);
  let painted = 0;
  for (let node = rows.first(); node < rows.last(); node++) {
    const [first, end] = barsInView(model, node, chosen.from, chosen.to);
    for (let bar = first; bar < end; bar++) {
      if (model.ended[bar] <= chosen.from) continue;
      const box = barBox(model, rows, area, per, bar, node);
      context.fillStyle = colours.css[colours.of(bar)];
      context.fillRect(box.left, box.top, box.width, box.height);
      painted++;
    }
  }
  return painted;
}

// Neighbours are a pixel apart where there is room for that.
function barBox(model, rows, area, per, bar, node) {
  const left = Math.max(area.left, area.left + (model.began[bar] - chosen.from) * per);
  const right = Math.min(area.left + area.width, area.left + (model.ended[bar] - chosen.from) * per);
  const slotHeight = (rows.rowHeight - rowGap(rows)) / model.slots;
  const top = area.top + rows.placeOf(node) + model.slot[bar] * slotHeight;
  const height = model.height[bar] * slotHeight;
  return {
    left,
    top,
    width: Math.max(0.7, right - left - (right - left > 3 ? 1 : 0)),
    height: Math.max(0.5, height - (height > 4 ? 1 : 0)),
  };
}

const rowGap = (rows) => (rows.rowHeight >= 12 ? 3 : rows.rowHeight >= 4 ? 1 : 0);

// Names of jobs on bars that are long and high enough to hold them.
function nameBars(context, model, rows, area, run, colours) {
  if (countInView(model, rows, 400) > 400) return;
  const per = area.width / (chosen.to - chosen.from);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (let node = rows.first(); node < rows.last(); node++) {
    const [first, end] = barsInView(model, node, chosen.from, chosen.to);
    for (let bar = first; bar < end; bar++) {
      const box = barBox(model, rows, area, per, bar, node);
      if (box.height < 11 || box.width < 36) continue;
      const name = nameOf(run, model.job[bar]);
      const short = name.slice(name.indexOf("/") + 1);
      if (context.measureText(short).width > box.width - 6) continue;
      context.fillStyle = colours.text[colours.of(bar)];
      context.fillText(short, box.left + 4, box.top + box.height / 2 + 0.5);
    }
  }
}

// Four numbers per pixel: red, green, blue and how much is covered. A bar is written down as what changes at its two
// ends; a sum along each row of pixels then gives every pixel its colour. Time is linear in bars plus pixels.
function layPaint(context, model, rows, area, colours) {
  const [width, height] = [Math.floor(area.width), Math.floor(area.height)];
  const stride = (width + 2) * 4;
  const paint = freshPaint(stride * height);
  const per = width / (chosen.to - chosen.from);
  const slotHeight = (rows.rowHeight - rowGap(rows)) / model.slots;
  let painted = 0;
  for (let node = rows.first(); node < rows.last(); node++) {
    const [first, end] = barsInView(model, node, chosen.from, chosen.to);
    const base = rows.placeOf(node);
    for (let bar = first; bar < end; bar++) {
      const left = Math.max(0, (model.began[bar] - chosen.from) * per);
      const right = Math.min(width, (model.ended[bar] - chosen.from) * per);
      if (right <= left) continue;
      const top = Math.max(0, base + model.slot[bar] * slotHeight);
      const bottom = Math.min(height, base + (model.slot[bar] + model.height[bar]) * slotHeight);
      layBar(paint, stride, left, right, top, bottom, colours.rgb[colours.of(bar)]);
      painted++;
    }
  }
  putPaint(context, paint, width, height, stride, area, colours.background);
  return painted;
}

function layBar(paint, stride, left, right, top, bottom, colour) {
  const [first, last] = [Math.floor(left), Math.floor(right)];
  for (let row = Math.floor(top); row < bottom; row++) {
    const covered = Math.min(bottom, row + 1) - Math.max(top, row);
    layEdge(paint, row * stride + first * 4, covered, left - first, colour);
    layEdge(paint, row * stride + last * 4, -covered, right - last, colour);
  }
}

// An edge within a pixel colours that pixel in part, and from the next one on all of it.
function layEdge(paint, at, amount, inside, colour) {
  const here = amount * (1 - inside), next = amount * inside;
  paint[at] += here * colour.red;
  paint[at + 1] += here * colour.green;
  paint[at + 2] += here * colour.blue;
  paint[at + 3] += here;
  paint[at + 4] += next * colour.red;
  paint[at + 5] += next * colour.green;
  paint[at + 6] += next * colour.blue;
  paint[at + 7] += next;
}

let paintStore = new Float32Array(0);

function freshPaint(size) {
  if (paintStore.length < size) paintStore = new Float32Array(size);
  return paintStore.fill(0, 0, size);
}

function putPaint(context, paint, width, height, stride, area, background) {
  const image = new ImageData(Math.max(1, width), Math.max(1, height));
  const pixels = image.data;
  for (let row = 0; row < height; row++) {
    let red = 0, green = 0, blue = 0, covered = 0;
    for (let column = 0, at = row * stride, to = row * width * 4; column < width; column++, at += 4, to += 4) {
      red += paint[at];
      green += paint[at + 1];
      blue += paint[at + 2];
      covered += paint[at + 3];
      const rest = 1 - covered;
      // Bars that lie over each other share the pixel.
      const part = rest < 0 ? 1 / covered : 1;
      const bare = rest > 0 ? rest : 0;
      pixels[to] = red * part + bare * background.red;
      pixels[to + 1] = green * part + bare * background.green;
      pixels[to + 2] = blue * part + bare * background.blue;
      pixels[to + 3] = 255;
    }
  }
  stamp(context, image, area.left, area.top, width, height);
}

// Through a canvas of its own: putting pixels directly would overlook the scale of sharp screens.
function stamp(context, image, left, top, width, height) {
  const sheet = new OffscreenCanvas(image.width, image.height);
  sheet.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(sheet, left, top, width, height);
}
