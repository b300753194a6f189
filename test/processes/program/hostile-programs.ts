/** Programs that attack the interpreter, its thread and the process, and how each must end. */

export interface HostileProgram {
  readonly what: string;
  readonly code: string;
  /** The code of the error that it ends with; `ok` for one that comes to nothing. */
  readonly end: "limit_exceeded" | "execution_failed" | "ok";
  /** What it returns, where that tells whether it got out. */
  readonly returned?: unknown;
}

const GROW = "const kept = []; for (;;) kept.push(new Array(10_000).fill(kept.length));";

export const HOSTILE_PROGRAMS: readonly HostileProgram[] = [
  // Time.
  { what: "an infinite loop", code: "for (;;);", end: "limit_exceeded" },
  {
    what: "an infinite loop that catches its interruption",
    code: "for (;;) try { for (;;); } catch {} finally { continue; }",
    end: "limit_exceeded",
  },
  { what: "an infinite loop in executors of promises", code: "for (;;) new Promise(() => { for (;;); });", end: "limit_exceeded" },
  { what: "an infinite loop in a getter", code: "return { get a() { for (;;); } };", end: "limit_exceeded" },
  { what: "an infinite loop in toJSON", code: "return { toJSON() { for (;;); } };", end: "limit_exceeded" },
  {
    what: "an infinite loop in what is thrown",
    code: "throw new (class extends Error { get message() { for (;;); } })();",
    end: "limit_exceeded",
  },
  { what: "an infinite loop in then", code: "Object.prototype.then = function () { for (;;); }; return {};", end: "limit_exceeded" },
  { what: "an endless generator", code: "function* all() { for (;;) yield 1; } for (const one of all()); ", end: "limit_exceeded" },
  {
    what: "a loop that the interpreter does not interrupt",
    code: "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);",
    end: "limit_exceeded",
  },
  {
    what: "a sort that never agrees",
    code: "const list = Array.from({ length: 1e5 }, (_, i) => i); for (;;) list.sort(() => Math.random() - 0.5);",
    end: "limit_exceeded",
  },
  { what: "a regular expression that backtracks", code: "/(a+)+$/.test('a'.repeat(50) + 'b');", end: "limit_exceeded" },
  {
    what: "a regular expression that backtracks by groups",
    code: "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60));",
    end: "limit_exceeded",
  },
  { what: "a replacement that backtracks", code: "('x'.repeat(40) + '!').replace(/(x+x+)+y/g, '');", end: "limit_exceeded" },
  {
    what: "a promise that follows itself",
    code: "const again = () => Promise.resolve().then(again); await again();",
    end: "limit_exceeded",
  },
  {
    what: "a bomb of promises",
    code: "const split = () => { Promise.resolve().then(split); Promise.resolve().then(split); }; split(); await new Promise(() => {});",
    end: "limit_exceeded",
  },
  {
    what: "a bomb of async functions",
    code: "async function split() { await null; await Promise.all([split(), split()]); } await split();",
    end: "limit_exceeded",
  },
  {
    what: "a proxy without end",
    code: "const deep = new Proxy({}, { get: () => deep, ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ value: deep, enumerable: true, configurable: true }) }); return deep;",
    end: "execution_failed",
  },
  // Memory.
  { what: "arrays without end", code: GROW, end: "limit_exceeded" },
  { what: "arrays without end, caught", code: `for (;;) try { ${GROW} } catch {}`, end: "limit_exceeded" },
  { what: "2 GB at once", code: "new Uint8Array(2 ** 31 - 1).fill(1);", end: "limit_exceeded" },
  {
    what: "2 GB in parts",
    code: "const kept = []; for (let i = 0; i < 2048; i++) kept.push(new Uint8Array(2 ** 20).fill(1));",
    end: "limit_exceeded",
  },
  { what: "a sparse array of 2 ** 32 - 1 items, filled", code: "new Array(2 ** 32 - 1).fill(0);", end: "limit_exceeded" },
  { what: "a string that doubles", code: "let text = 'x'; for (;;) text += text;", end: "limit_exceeded" },
  { what: "a long string in one step", code: "'x'.repeat(2 ** 29);", end: "limit_exceeded" },
  { what: "a join of itself", code: "let text = 'ab'; for (;;) text = Array(1000).fill(text).join(text);", end: "limit_exceeded" },
  { what: "a map without end", code: "const map = new Map(); for (let i = 0; ; i++) map.set(i, String(i));", end: "limit_exceeded" },
  {
    what: "closures without end",
    code: "let next = () => 1; for (;;) { const before = next; next = () => before; }",
    end: "limit_exceeded",
  },
  { what: "a large number", code: "let number = 3n; for (;;) number **= 3n;", end: "limit_exceeded" },
  { what: "an answer that is too large", code: "return 'x'.repeat(8_000_000);", end: "limit_exceeded" },
  { what: "a printed text that is too large", code: "console.log('x'.repeat(8_000_000)); return 1;", end: "ok", returned: 1 },
  { what: "a million printed lines", code: "for (let i = 0; i < 1e6; i++) console.log('line', i);", end: "limit_exceeded" },
  // Depth.
  { what: "deep recursion", code: "(function down() { down(); })();", end: "limit_exceeded" },
  { what: "deep recursion, caught", code: "function down() { try { down(); } catch {} } down(); return 1;", end: "ok", returned: 1 },
  { what: "deep recursion by toString", code: "const a = { toString() { return '' + a; } }; '' + a;", end: "limit_exceeded" },
  { what: "deep recursion in JSON", code: "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a;", end: "limit_exceeded" },
  { what: "a deep regular expression", code: "new RegExp('('.repeat(1e5) + ')'.repeat(1e5));", end: "execution_failed" },
  { what: "deep source text", code: `return ${"(".repeat(20_000)}1${")".repeat(20_000)};`, end: "limit_exceeded" },
  { what: "deep source text, evaluated", code: "(0, eval)('['.repeat(1e5));", end: "limit_exceeded" },
  // Calls.
  { what: "a million calls at once", code: "for (let i = 0; i < 1e6; i++) tools.note({ i });", end: "limit_exceeded" },
  {
    what: "a million calls, one by one",
    code: "for (let i = 0; i < 1e6; i++) try { await tools.note({ i }); } catch {}",
    end: "limit_exceeded",
  },
  { what: "calls with a large input", code: "const text = 'x'.repeat(1e6); for (;;) tools.note({ text });", end: "limit_exceeded" },
  { what: "a deep input", code: "let a = {}; for (let i = 0; i < 500; i++) a = { a }; await tools.note(a);", end: "execution_failed" },
  { what: "an input that is no object", code: "await tools.note([[]]);", end: "execution_failed" },
  // Getting out.
  {
    what: "the globals of Node",
    code: "return [typeof process, typeof require, typeof module, typeof Buffer, typeof fetch, typeof setTimeout, typeof WebAssembly, typeof Worker, typeof SharedArrayBuffer === 'function' && typeof Atomics];",
    end: "ok",
  },
  {
    what: "the modules of QuickJS",
    code: "return [typeof std, typeof os, typeof scriptArgs, typeof bjson];",
    end: "ok",
    returned: ["undefined", "undefined", "undefined", "undefined"],
  },
  { what: "an import", code: "await import('node:fs');", end: "execution_failed" },
  { what: "an import of a file", code: "await import('/etc/passwd');", end: "execution_failed" },
  {
    what: "the constructor of a host function",
    code: "return tools.note.constructor.constructor('return typeof process + typeof globalThis.process')();",
    end: "ok",
    returned: "undefinedundefined",
  },
  {
    what: "the constructor of an error of a call",
    code: "try { await tools.nope(); } catch (error) { return error.constructor.constructor('return typeof process')(); }",
    end: "ok",
    returned: "undefined",
  },
  {
    what: "the caller of a function",
    code: "return (function () { try { return String(arguments.callee.caller); } catch (error) { return error.name; } })();",
    end: "ok",
    returned: "TypeError",
  },
  { what: "the end of the wrapping function", code: "})(); (async () => { return typeof process;", end: "ok", returned: "undefined" },
  {
    what: "prototypes that are changed",
    code: "for (const proto of [Object, Array, Function, Promise, String, Map, Error]) for (const key of Object.getOwnPropertyNames(proto.prototype)) try { proto.prototype[key] = () => { throw 1; }; } catch {} return (await tools.note({ a: 1 }));",
    end: "execution_failed",
  },
  {
    what: "JSON that is changed",
    code: 'JSON.stringify = () => \'{"a":"changed"}\'; JSON.parse = () => ({ hacked: true }); return await tools.note({ a: 1 });',
    end: "ok",
    returned: { a: 1 },
  },
  {
    what: "globals that are changed",
    code: "globalThis.Promise = null; globalThis.Error = null; globalThis.Proxy = null; globalThis.String = null; return await tools.note({ a: 1 });",
    end: "ok",
    returned: { a: 1 },
  },
  {
    what: "keys of a prototype in an input",
    code: 'return await tools.note(JSON.parse(\'{"__proto__": {"polluted": 1}, "constructor": 2}\'));',
    end: "ok",
  },
  { what: "keys of a prototype in an answer", code: 'return JSON.parse(\'{"__proto__": {"polluted": 1}}\');', end: "ok" },
  {
    what: "tools that are changed",
    code: "'use strict'; let failed = 0; for (const work of [() => { tools.note = 1; }, () => { delete tools.note; }, () => { Object.defineProperty(tools, 'x', { value: 1 }); }, () => { Object.setPrototypeOf(tools, {}); }]) try { work(); } catch { failed++; } return failed;",
    end: "ok",
    returned: 4,
  },
  {
    what: "names of tools that are hostile",
    code: "const codes = []; for (const name of ['__proto__', 'constructor', '', 'a'.repeat(1e5), '::', 'a::b::c', '\\u0000']) try { await tools[name]({}); codes.push('ran'); } catch (error) { codes.push(typeof error.code === 'string' || error instanceof TypeError); } return codes.every((code) => code === true);",
    end: "ok",
    returned: true,
  },
];
