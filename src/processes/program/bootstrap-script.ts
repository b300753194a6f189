/** The JavaScript that runs inside the interpreter before the program: `tools`, `console`, `ToolError`, `input`. */

/**
 * The source of a function expression: the function receives the host's functions and returns those that the host calls. It saves the built-in
 * functions it needs, since a program may change any of them. Only strings and numbers are passed in or out.
 */
export const BOOTSTRAP_SCRIPT = `(function (call, print, names, inputText) {
"use strict";
const { parse, stringify } = JSON;
const { create, defineProperty, freeze, hasOwn, assign, setPrototypeOf } = Object;
const bind = Function.prototype.call.bind.bind(Function.prototype.call);
const slice = bind(String.prototype.slice);
const indexOf = bind(String.prototype.indexOf);
const exec = bind(RegExp.prototype.exec);
const ThePromise = Promise, TheError = Error, TheTypeError = TypeError, TheProxy = Proxy, TheString = String;
const PLACE = /program\\.js:(\\d+):(\\d+)/;
const pending = create(null);

const keysOf = Object.keys;
const shownBefore = new WeakMap();
const getShown = bind(WeakMap.prototype.get), setShown = bind(WeakMap.prototype.set);

// Each time the same object for an error, so that an error which refers to itself is a circular reference and not endless.
function fieldsOf(error, first) {
  let fields = getShown(shownBefore, error);
  if (fields === undefined) setShown(shownBefore, error, fields = create(null));
  const keys = keysOf(fields);
  for (let index = 0; index < keys.length; index++) delete fields[keys[index]];
  return assign(fields, first, error);
}

class ToolError extends TheError {
  constructor(fields) {
    super(fields.message);
    assign(this, fields);
  }
  toJSON() {
    return fieldsOf(this, { message: this.message });
  }
}
defineProperty(ToolError.prototype, "name", { value: "ToolError", configurable: true, writable: true });

defineProperty(TheError.prototype, "toJSON", {
  value: function () { return fieldsOf(this, { name: this.name, message: this.message }); },
  configurable: true, writable: true,
});

function invoker(name) {
  const invoke = async (...values) => {
    if (values.length > 1) throw new TheTypeError(name + " takes one argument: an object, the input of the tool.");
    const text = values.length === 0 || values[0] === undefined ? "{}" : stringify(values[0]);
    if (text === undefined) throw new TheTypeError("The input of " + name + " is not JSON: pass an object.");
    const { stack } = new TheError();
    const number = call(name, text);
    return new ThePromise((resolve, reject) => { pending[number] = { resolve, reject, stack }; });
  };
  // A toolset may have tools of these names.
  delete invoke.name;
  delete invoke.length;
  return invoke;
}

// Looked up by the language itself: they name a tool only where there is one.
const PASSIVE = freeze(assign(create(null), {
  then: 1, toJSON: 1, toString: 1, valueOf: 1, toLocaleString: 1, constructor: 1, hasOwnProperty: 1, isPrototypeOf: 1, propertyIsEnumerable: 1,
  __proto__: 1, prototype: 1, inspect: 1,
}));

function namespace(target, unknown) {
  return new TheProxy(target, {
    get: (own, key) => typeof key === "symbol" ? undefined : hasOwn(own, key) ? own[key] : PASSIVE[key] === 1 ? undefined : unknown(key),
    getPrototypeOf: () => null,
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  });
}

function add(target, key, value) {
  defineProperty(target, key, { value, enumerable: true, configurable: true });
}

function makeTools() {
  const spaces = create(null);
  const bare = create(null);
  for (let index = 0; index < names.length; index++) {
    const name = names[index];
    const at = indexOf(name, "::");
    if (at < 0) bare[name] = invoker(name);
    else {
      const space = slice(name, 0, at);
      if (!hasOwn(spaces, space)) spaces[space] = create(null);
      spaces[space][slice(name, at + 2)] = invoker(name);
    }
  }
  const root = create(null);
  for (const space in spaces) {
    const target = hasOwn(bare, space) ? bare[space] : create(null);
    for (const key in spaces[space]) add(target, key, spaces[space][key]);
    add(root, space, namespace(target, (key) => invoker(space + "::" + key)));
  }
  for (const name in bare) if (!hasOwn(spaces, name)) add(root, name, bare[name]);
  return namespace(root, (key) => namespace(invoker(key), (inner) => invoker(key + "::" + inner)));
}

function show(value) {
  if (typeof value === "string") return value;
  if (typeof value === "function") return "[function]";
  try {
    if (value instanceof TheError) return value.name + ": " + value.message;
    const text = typeof value === "object" ? stringify(value) : undefined;
    return text === undefined ? TheString(value) : text;
  } catch {
    return "[object]";
  }
}

function printer() {
  return (...values) => {
    let line = "";
    for (let index = 0; index < values.length; index++) line += (index === 0 ? "" : " ") + show(values[index]);
    print(stringify(line + "\\n"));
  };
}

const console = create(null);
for (const level of ["log", "info", "warn", "error", "debug"]) console[level] = printer();

function settle(number, succeeded, text) {
  const { resolve, reject, stack } = pending[number];
  delete pending[number];
  const value = parse(text);
  if (succeeded) return resolve(value);
  const error = new ToolError(value);
  defineProperty(error, "stack", { value: stack, configurable: true, writable: true });
  reject(error);
}

// Has no toJSON that the program may have given all arrays.
function plain(array) {
  return setPrototypeOf(array, null);
}

function describe(thrown) {
  let name = "", message = "", line = 0, column = 0, details = [], hint = "";
  try {
    if (thrown instanceof TheError) {
      name = TheString(thrown.name);
      message = TheString(thrown.message);
      const found = exec(PLACE, TheString(thrown.stack));
      if (found !== null) { line = +found[1]; column = +found[2]; }
      if (thrown instanceof ToolError) {
        hint = TheString(thrown.hint ?? "");
      }
      const parts = thrown instanceof ToolError ? thrown.details : thrown.errors;
      for (let index = 0; index < (parts?.length ?? 0) && index < 20; index++) details[index] = slice(show(parts[index]), 0, 500);
    } else message = show(thrown);
  } catch {
    message = message || "[object]";
  }
  return stringify(plain([slice(name, 0, 100), slice(message, 0, 4000), line, column, plain(details), slice(hint, 0, 500)]));
}

function answer(value) {
  const text = value === undefined ? "null" : stringify(value);
  if (text === undefined) throw new TheTypeError("The program returned a " + typeof value + ", which is not JSON.");
  return text;
}

const global = globalThis;
const define = (name, value) => defineProperty(global, name, { value, writable: true, configurable: true });
define("tools", makeTools());
define("console", console);
define("ToolError", ToolError);
define("input", parse(inputText));
return { settle, describe, answer };
})`;
