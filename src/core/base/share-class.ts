/**
 * Makes `instanceof` true for instances that another copy of the package created with its class of this name. Tools of a project are created by the
 * copy that the project installed, and run by the copy that started as `haft`. For subclasses, `instanceof` is unchanged.
 *
 * Called in the `static` block of the class. Check the fields of a value before relying on them: its copy may be of another version.
 */
export function shareClass(type: { readonly prototype: object }, name: string): void {
  const mark = Symbol.for(`haft.${name}`);
  const ordinary = Function.prototype[Symbol.hasInstance];
  Object.defineProperty(type.prototype, mark, { value: true });
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== type) return Reflect.apply(ordinary, this, [value]); // a subclass, which inherits this function
      return typeof value === "object" && value !== null && (value as Marked)[mark] === true; // hot path, so without Reflect.get
    },
  });
}

interface Marked {
  readonly [mark: symbol]: unknown;
}
