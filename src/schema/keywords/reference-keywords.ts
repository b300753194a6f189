/** Keywords that name subschemas and refer to them. */
import type { DynamicScope, Rule, SchemaNode, ValidationRun } from "../compiled-schema.ts";
import { evaluate } from "../evaluate.ts";
import { getOwn } from "../../core/base/get-own.ts";
import {
  type KeywordTable,
  type Reference,
  type SubschemaCompiler,
  readMapKeyword,
  throwInvalidSchema,
  readStringKeyword,
} from "./keyword.ts";

/** The anchor name of roots with `$recursiveAnchor: true`; no `$anchor` can be empty. */
export const RECURSIVE_ANCHOR = "";

function compileAnchors(node: SchemaNode, compiler: SubschemaCompiler): undefined {
  const anchor = readStringKeyword(node, "$anchor");
  const dynamicAnchor = readStringKeyword(node, "$dynamicAnchor");
  if (anchor !== undefined) compiler.addAnchor(node, "$anchor", anchor, false);
  if (dynamicAnchor !== undefined) compiler.addAnchor(node, "$dynamicAnchor", dynamicAnchor, true);
}

function compileRecursiveAnchor(node: SchemaNode, compiler: SubschemaCompiler): undefined {
  const isAnchor = getOwn(node.raw, "$recursiveAnchor") === true && node.raw === node.resource.raw;
  if (isAnchor) compiler.addAnchor(node, "$recursiveAnchor", RECURSIVE_ANCHOR, true);
}

/** Also compiles `definitions`: the old name is still common in published schemas. */
function compileDefinitions(node: SchemaNode, compiler: SubschemaCompiler): undefined {
  for (const keyword of ["$defs", "definitions"]) {
    const map = readMapKeyword(node, keyword, compiler) ?? {};
    for (const name of Object.keys(map)) compiler.compileChild(node, keyword, map[name], name);
  }
}

function compileRef(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const uri = readStringKeyword(node, "$ref");
  return uri === undefined ? undefined : referenceRule(compiler.addReference(node, "$ref", uri));
}

function compileDynamicRef(node: SchemaNode, compiler: SubschemaCompiler): Rule | undefined {
  const uri = readStringKeyword(node, "$dynamicRef");
  return uri === undefined ? undefined : referenceRule(compiler.addReference(node, "$dynamicRef", uri));
}

function compileRecursiveRef(node: SchemaNode, compiler: SubschemaCompiler): Rule {
  const uri = readStringKeyword(node, "$recursiveRef");
  if (uri !== "#") return throwInvalidSchema(node, "$recursiveRef", '$recursiveRef must be "#"');
  return referenceRule(compiler.addReference(node, "$recursiveRef", uri));
}

function referenceRule(reference: Reference): Rule {
  return (value, run) => {
    const { target, dynamicAnchor } = reference;
    const node = dynamicAnchor === undefined ? target : (findOutermost(run.scope, dynamicAnchor, run) ?? target);
    return node !== undefined && evaluate(node, value, run);
  };
}

/** Returns the node with this dynamic anchor in the outermost resource in scope. */
function findOutermost(scope: DynamicScope | undefined, anchor: string, run: ValidationRun): SchemaNode | undefined {
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
