/**
 * Lets `instanceof` hold for instances that another copy of the package made with its class of this name. Tools of a project are made by
 * the copy that the project installed, and run by the copy that `haft` was started from. Subclasses stay exact.
 *
 * Called in the `static` block of the class. The fields of a value are to be checked before they are trusted: its copy may be of another version.
 */
export function shareClass(type: { readonly prototype: object }, name: string): void {
  const mark = Symbol.for(`haft.${name}`);
  const ordinary = Function.prototype[Symbol.hasInstance];
  Object.defineProperty(type.prototype, mark, { value: true });
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== type) return Reflect.apply(ordinary, this, [value]); // a subclass, which inherits this function
      return typeof value === "object" && value !== null && (value as Marked)[mark] === true; // asked in each call, so not by Reflect.get
    },
  });
}

interface Marked {
  readonly [mark: symbol]: unknown;
}
