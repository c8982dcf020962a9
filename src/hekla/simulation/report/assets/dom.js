// Elements of the page. Text only ever becomes a text node or an attribute: no name can turn into markup.

const SVG = "http://www.w3.org/2000/svg";

function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function shape(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Colours are known to the style sheet alone; a canvas has to ask for them.
function colourOf(variable) {
  const probe = document.getElementById("probe");
  probe.style.color = `var(${variable})`;
  const [red, green, blue] = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
  return { red, green, blue, css: `rgb(${red} ${green} ${blue})` };
}

// Paper does not wait for the next frame.
const drawing = { isAtOnce: false };

// Draws once per frame however often it is asked to.
function oncePerFrame(draw) {
  let isAsked = false;
  return () => {
    if (drawing.isAtOnce) return draw();
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      draw();
    });
  };
}

const widthWatchers = [];

// Calls back with the width whenever it changes.
function onWidth(host, draw) {
  let known = 0;
  const look = () => {
    const width = Math.floor(host.clientWidth);
    if (width && width !== known) draw((known = width));
  };
  widthWatchers.push(look);
  new ResizeObserver(look).observe(host);
}

const lookAtWidths = () => widthWatchers.forEach((look) => look());

const tooltip = {
  box: null,
  show(event, rows) {
    this.box ??= document.getElementById("tooltip");
    this.box.replaceChildren(...rows);
    this.box.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = event.clientX + 16 + width > innerWidth ? event.clientX - width - 12 : event.clientX + 16;
    const top = Math.min(event.clientY + 14, innerHeight - height - 6);
    this.box.style.left = `${Math.max(4, left)}px`;
    this.box.style.top = `${Math.max(4, top)}px`;
  },
  hide() {
    if (this.box) this.box.hidden = true;
  },
};

// A line of the tooltip: a swatch where a colour belongs to it, a label, a value.
function tooltipRow(label, value, colour = null) {
  const swatch = colour === null ? "" : element("span", { class: `swatch ${colour}` });
  return element("div", { class: "tip-row" }, element("span", {}, swatch, label), element("b", {}, value));
}

const tooltipTitle = (text) => element("div", { class: "tip-title" }, text);
