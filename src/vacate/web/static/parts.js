// Parts of the page: each is [tag, attributes, children], where a child is text, a part without a key, or
// {k: key}, the element with that key. Everything is made with createElement and text nodes: what others wrote
// is text, whatever it says. Existing elements are changed in place, so that focus, selection and open folds stay.

const SVG = "http://www.w3.org/2000/svg";
const KEPT = new Set(["open", "value", "hidden"]);   // of the reader, not of the server

const keyOf = (element) => element.dataset?.k;

export class Parts {
  constructor(root, changed) {
    this.root = root;
    this.changed = changed;   // called with each element that was made or changed
    this.late = new Map();   // the rows of a table in their order, where they have not been sorted
    this.known = new Map();
    for (const element of [root, ...root.querySelectorAll("[data-k]")]) {
      if (keyOf(element)) this.known.set(keyOf(element), element);
    }
  }

  // Apply the parts of one message. The outer ones come first.
  apply(parts) {
    this.parts = parts;
    this.done = new Set();
    for (const key of Object.keys(parts)) this.one(key);
    for (const [key, element] of this.known) if (!element.isConnected) this.known.delete(key);
  }

  // The element with this key, as the message wants it.
  one(key) {
    const wanted = this.parts[key];
    let element = this.known.get(key);
    if (!wanted || this.done.has(key)) return element;
    this.done.add(key);
    const fresh = !element || element.localName !== wanted[0];
    if (fresh) {
      element = this.made(wanted[0], wanted[1]);
      const old = this.known.get(key);
      this.known.set(key, element);
      if (old?.isConnected) old.replaceWith(element);
    }
    this.fill(element, wanted);
    this.changed(element, fresh);
    return element;
  }

  made(tag, attributes, parent) {
    const inside = tag === "svg" || (parent?.namespaceURI === SVG && parent.localName !== "foreignObject");
    return inside ? document.createElementNS(SVG, tag) : document.createElement(tag);
  }

  fill(element, [, attributes, children]) {
    for (const [name, value] of Object.entries(attributes)) {
      if (KEPT.has(name) && element.isConnected) continue;
      if (name === "title" && "data-t" in attributes && element.title) continue;   // in the reader's zone
      if (element.getAttribute(name) !== value) element.setAttribute(name, value);
    }
    for (const name of element.getAttributeNames()) {
      if (!(name in attributes) && !KEPT.has(name)) element.removeAttribute(name);
    }
    if ("data-t" in attributes) return;   // the text of a time is written by the clock
    this.arrange(element, children);
  }

  arrange(element, children) {
    const plain = [...element.childNodes].filter((node) => !keyOf(node));   // may be used again, in order
    const wanted = children.map((child) => {
      if (typeof child === "string") {
        const node = plain[0]?.nodeType === Node.TEXT_NODE ? plain.shift() : document.createTextNode("");
        if (node.data !== child) node.data = child;
        return node;
      }
      if (!Array.isArray(child)) return this.one(child.k);
      let node = plain[0]?.localName === child[0] ? plain.shift() : this.made(child[0], child[1], element);
      this.fill(node, child);
      return node;
    }).filter(Boolean);
    if (!isHeld(element)) {
      this.late.delete(element);
      put(element, wanted);
      return;
    }
    this.late.set(element, wanted);
    const stay = new Set(wanted);
    put(element, joined([...element.childNodes].filter((node) => stay.has(node)), wanted));
  }

  // Sort the rows that the pointer and the focus have left.
  settle() {
    for (const [element, wanted] of this.late) {
      if (isHeld(element)) continue;
      this.late.delete(element);
      put(element, joined(wanted.filter((node) => node.parentNode === element), element.childNodes));
    }
  }
}

// Rows do not move under the pointer or the focus: those that stay keep their order, new ones come last.
function isHeld(element) {
  return element.localName === "tbody" && (element.matches(":hover") || element.contains(document.activeElement));
}

function joined(first, more) {
  const there = new Set(first);
  return [...first, ...[...more].filter((node) => !there.has(node))];
}

function put(element, order) {
  order.forEach((node, place) => {
    if (element.childNodes[place] !== node) element.insertBefore(node, element.childNodes[place] ?? null);
  });
  while (element.childNodes.length > order.length) element.lastChild.remove();
}
