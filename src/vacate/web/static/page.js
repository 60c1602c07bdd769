// One stream of differences for this tab; times that tick; commands to copy; folds and filters in the address.

import { Parts } from "/static/parts.js";

const body = document.body;
const clock = { offset: Date.parse(body.dataset.now) - Date.now(), live: true, seen: Date.now() };
const now = () => (clock.live ? Date.now() : clock.seen) + clock.offset;

// ---------- times ----------

function duration(milliseconds) {
  const s = Math.max(0, Math.floor(milliseconds / 1000)), m = Math.floor(s / 60), h = Math.floor(s / 3600);
  if (s < 60) return `${s}s`;
  if (s < 600) return s % 60 ? `${m}m${s % 60}s` : `${m}m`;
  if (s < 3600) return `${m}m`;
  if (s < 86400) return m % 60 ? `${h}h${m % 60}m` : `${h}h`;
  return h % 24 && s < 691200 ? `${Math.floor(h / 24)}d${h % 24}h` : `${Math.floor(h / 24)}d`;
}

const hour = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const exact = { ...hour, second: "2-digit" };
const short = new Intl.DateTimeFormat(undefined, hour), long = new Intl.DateTimeFormat(undefined, exact);
const whole = new Intl.DateTimeFormat(undefined, { ...exact, year: "numeric", month: "2-digit", day: "2-digit", timeZoneName: "short" });
const FORMS = {
  age: (moment) => duration(now() - moment),
  left: (moment) => duration(moment - now()),
  clock: (moment) => short.format(moment),
  "clock-s": (moment) => long.format(moment),
  whole: (moment) => whole.format(moment),
};

const formatted = new WeakMap();   // the moment that was written: only durations change with the clock
function writeTime(element) {
  const stamp = element.getAttribute("datetime"), form = element.dataset.t;
  const known = formatted.get(element) === stamp + form && element.firstChild;
  if (known && form !== "age" && form !== "left") return;
  const moment = Date.parse(stamp);
  if (!FORMS[form] || Number.isNaN(moment)) return;
  const text = FORMS[form](moment);
  if (element.textContent !== text) element.textContent = text;
  if (known) return;
  element.title = whole.format(moment);
  formatted.set(element, stamp + form);
}

function tick() {
  for (const element of document.querySelectorAll("time[data-t]")) writeTime(element);
  for (const element of document.querySelectorAll("text[data-at]")) {
    const text = (element.dataset.form === "s" ? long : short).format(Number(element.dataset.at) * 1000);
    if (element.textContent !== text) element.textContent = text;
  }
  const zone = document.getElementById("zone");
  if (zone) zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
}

// ---------- differences ----------

const parts = new Parts(document.querySelector("[data-k=body]"), (element, made) => {
  if (element.localName === "tr" && !made) {
    element.classList.remove("fresh");
    requestAnimationFrame(() => element.classList.add("fresh"));
    setTimeout(() => element.classList.remove("fresh"), 1300);
  }
});

let announced = { text: document.querySelector("h1")?.textContent ?? "", at: 0 };
function announce() {
  const text = document.querySelector("h1")?.textContent ?? "";
  if (text === announced.text || Date.now() - announced.at < 10000) return;
  announced = { text, at: Date.now() };
  document.getElementById("announcement").textContent = text;
}

let waiting = null;   // parts that came in since the last frame
function receive(event) {
  heard();
  last = event.lastEventId;
  const message = JSON.parse(event.data);
  clock.offset = Date.parse(message.now) - Date.now();
  document.title = message.title;
  if (waiting) { Object.assign(waiting, message.parts); return; }
  waiting = message.parts;
  requestAnimationFrame(() => {
    const found = waiting;
    waiting = null;
    parts.apply(found);
    restoreFolds();
    tick();
    announce();
  });
}

// ---------- the connection to the program ----------

const SILENT = 4000, HOPELESS = 15000;   // the program says every second that it is there
let stream = null, last = "0";   // the number of the last message
let heardAt = Date.now(), triedAt = 0;
let lostAt = 0;
let refused = "";   // why a program that answers does not serve this page

function setLive(live) {
  if (live) { clock.live = true; clock.seen = Date.now(); lostAt = 0; }
  else if (clock.live) { clock.live = false; lostAt = clock.seen; }
  document.getElementById("lost").hidden = live;
  body.classList.toggle("not-live", !live);
  sayAge();
}

function heard() {
  heardAt = Date.now();
  refused = "";
  if (!clock.live) setLive(true);
}

function sayAge() {
  const word = document.getElementById("live"), old = document.getElementById("live-old");
  if (word && old) [word.hidden, old.hidden] = [!clock.live, clock.live];
  if (clock.live) return;
  const age = duration(Date.now() - lostAt);
  const why = refused || `The program vacate web has not answered for ${age}. If it was ended, start it again`;
  document.getElementById("lost-text").textContent =
    `${why}. This is the state of ${long.format(lostAt + clock.offset)}; drains go on without this page.`;
  if (old) old.textContent = `${age} old`;
}

// A program that answers is not lost: where a token has expired, the page to sign in says more.
async function comeBack() {
  const answer = await fetch("/", { method: "HEAD", redirect: "manual" }).catch(() => null);
  const unknown = answer?.status === 401;
  if (unknown && body.dataset.leave) { location.reload(); return; }
  refused = unknown ? "The program was started again: open the address that it has printed, and this page goes on" : "";
  if (answer && !unknown) refused = "More pages are open than the program serves: close some of them";
  connect();
}

function connect() {
  stream?.close();
  triedAt = Date.now();
  const address = new URL("/events", location.href);
  address.searchParams.set("tab", body.dataset.tab);
  address.searchParams.set("last", last);
  address.searchParams.set("at", location.pathname + location.search);
  const mine = stream = new EventSource(address);
  mine.onmessage = receive;
  mine.onopen = heard;
  mine.addEventListener("alive", heard);
  mine.onerror = () => {
    if (mine !== stream) return;
    setLive(false);
    if (mine.readyState === EventSource.CLOSED) setTimeout(() => { if (mine === stream) comeBack(); }, 2000);
  };
}

// A program that is frozen, or a way to it that is cut, breaks no connection: nothing is heard any more.
function listen() {
  if (!stream) return;
  if (Date.now() - heardAt > SILENT) setLive(false);
  if (Date.now() - Math.max(heardAt, triedAt) > HOPELESS) connect();
}

// A page that the browser has kept and shows again begins where it ended.
addEventListener("pagehide", () => { stream?.close(); });
addEventListener("pageshow", (event) => { if (event.persisted && body.dataset.tab) connect(); });

// ---------- copy ----------

async function copy(button) {
  const code = button.parentElement.querySelector("code");
  const label = button.firstChild, before = "Copy";
  try {
    await navigator.clipboard.writeText(code.textContent);
    label.data = "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    label.data = "Selected";
  }
  setTimeout(() => { label.data = before; }, 2000);
}

// ---------- folds and filter, kept in the address ----------

function openFolds() {
  return new Set(new URLSearchParams(location.search).getAll("open"));
}

function restoreFolds() {
  const open = openFolds();
  for (const fold of document.querySelectorAll("details[data-fold]")) {
    if (open.has(fold.dataset.fold) && !fold.open) fold.open = true;
  }
}

function keepFold(fold) {
  const address = new URL(location.href);
  const open = openFolds();
  if (fold.open) open.add(fold.dataset.fold); else open.delete(fold.dataset.fold);
  address.searchParams.delete("open");
  for (const key of open) address.searchParams.append("open", key);
  if (address.href !== location.href) history.replaceState(null, "", address);
}

document.addEventListener("toggle", (event) => {
  if (event.target.dataset?.fold) keepFold(event.target);
}, true);
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-copy]");
  if (button) copy(button);
});

restoreFolds();
tick();
// On a narrow screen the entry of this page may be outside of what is seen of the navigation.
function showHere() {
  const here = document.querySelector(".nav [aria-current]"), nav = here?.closest(".nav");
  if (!nav) return;
  const left = here.getBoundingClientRect().left - nav.getBoundingClientRect().left + nav.scrollLeft;
  if (left + here.offsetWidth > nav.clientWidth - 32) nav.scrollLeft = left - 32;
}
showHere();
addEventListener("resize", showHere);
setInterval(() => { listen(); parts.settle(); if (clock.live) clock.seen = heardAt; tick(); sayAge(); }, 1000);
if (body.dataset.tab) connect();   // the page of an action is not made again: that would run its command
