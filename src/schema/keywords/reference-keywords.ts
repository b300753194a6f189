/** Keywords that name subschemas and refer to them. */
import type { DynamicScope, Rule, SchemaNode, ValidationRun } from "../compiled-schema.ts";
import { evaluate } from "../evaluate.ts";
import { own } from "../../core/base/own.ts";
import { type KeywordTable, type Reference, type SubschemaCompiler, mapOf, refuse, stringOf } from "./keyword.ts";

/** The anchor name of roots with `$recursiveAnchor: true`; no `$anchor` can be empty. */
export const RECURSIVE_ANCHOR = "";

function compileAnchors(node: SchemaNode, compiler: SubschemaCompiler): undefined {
  const anchor = stringOf(node, "$anchor");
  const dynamicAnchor = stringOf(node, "$dynamicAnchor");
  if (anchor !== undefined) compiler.anchor(node, "$anchor", anchor, false);
  if (dynamicAnchor !== undefined) compiler.anchor(node, "$dynamicAnchor", dynamicAnchor, true);
}

function compileRecursiveAnchor(node: SchemaNode, compiler: SubschemaCompiler): undefined {
  const isAnchor = own(node.raw, "$recursiveAnchor") === true && node.raw === node.resource.raw;
  if (isAnchor) compiler.anchor(node, "$recursiveAnchor", RECURSIVE_ANCHOR, true);
}

/** Also compiles `definitions`: the old name is still common in published schemas. */
function compileDefinitions(node: SchemaNode, compiler: SubschemaCompiler): undefined {
  for (const keyword of ["$defs", "definitions"]) {
    const map = mapOf(node, keyword, compiler) ?? {};
    for (const name of Object.keys(map)) compiler.child(node, keyword, map[name], name);
  }
}

function compileRef(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const uri = stringOf(node, "$ref");
  return uri === undefined ? undefined : referenceRule(compiler.reference(node, "$ref", uri));
}

function compileDynamicRef(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const uri = stringOf(node, "$dynamicRef");
  return uri === undefined ? undefined : referenceRule(compiler.reference(node, "$dynamicRef", uri));
}

function compileRecursiveRef(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  const uri = stringOf(node, "$recursiveRef");
  if (uri !== "#") return refuse(node, "$recursiveRef", '$recursiveRef must be "#"');
  return referenceRule(compiler.reference(node, "$recursiveRef", uri));
}

function referenceRule(reference: Reference): Rule {
  return (value, run) => {
    const { target, dynamicAnchor } = reference;
    const node = dynamicAnchor === undefined ? target : (outermost(run.scope, dynamicAnchor, run) ?? target);
    return node !== undefined && evaluate(node, value, run);
  };
}

/** Returns the node with this dynamic anchor in the outermost resource in scope. */
function outermost(scope: DynamicScope | undefined, anchor: string, run: ValidationRun): SchemaNode | undefined {
  let found: SchemaNode | undefined;
  for (let at = scope; at !== undefined; at = at.outer) {
    run.stepsLeft--;
    found = at.resource.dynamicAnchors.get(anchor) ?? found;
  }
  return found;
}

/** Compiled before all other keywords. */
export const NAMING_KEYWORDS: KeywordTable = [
  [compileAnchors, "$anchor", "$dynamicAnchor"],
  [compileDefinitions, "$defs", "definitions"],
];

export const NAMING_KEYWORDS_2019: KeywordTable = [...NAMING_KEYWORDS, [compileRecursiveAnchor, "$recursiveAnchor"]];
export const NAMING_KEYWORDS_7: KeywordTable = [[compileDefinitions, "$defs", "definitions"]];

export const REFERENCE_KEYWORDS: KeywordTable = [
  [compileRef, "$ref"],
  [compileDynamicRef, "$dynamicRef"],
];

export const REFERENCE_KEYWORDS_2019: KeywordTable = [
  [compileRef, "$ref"],
  [compileRecursiveRef, "$recursiveRef"],
];

export const REFERENCE_KEYWORDS_7: KeywordTable = [[compileRef, "$ref"]];
