/** One field of a form, made from its schema. Fields of objects and arrays contain further fields. */
import { useEffect, useId, useState, type ReactNode } from "react";
import { isSameJson } from "../diff/json-diff.ts";
import { UntrustedText } from "../show/untrusted-text.tsx";
import { showHiddenCharacters } from "../show/text-pieces.ts";
import { JsonField } from "./json-field.tsx";
import {
  createInitialValue,
  isNullable,
  isSchema,
  findMember,
  resolveLocalReferences,
  toFieldShape,
  type Member,
  type Property,
  type Schema,
  type FieldShape,
} from "./field-shape.ts";
import { parseTypedNumber } from "./typed-value.ts";

export interface FieldProps {
  readonly name: string;
  readonly schema: Schema;
  readonly root: unknown;
  /** The value; undefined = left out. */
  readonly value: unknown;
  readonly isRequired: boolean;
  readonly depth: number;
  readonly path: string;
  readonly onChange: (value: unknown) => void;
  /** Called when the text of a field is not a valid value, so that nothing may be sent, and when it is valid again. */
  readonly onUnreadable: (path: string, isUnreadable: boolean) => void;
}

const MAX_DEPTH = 6;

export function SchemaField(props: FieldProps): ReactNode {
  const schema = resolveLocalReferences(props.schema, props.root);
  const shape: FieldShape = props.depth > MAX_DEPTH ? { kind: "json" } : toFieldShape(schema, props.root);
  if (shape.kind === "object" && shape.properties.length > 0)
    return <ObjectField {...props} schema={schema} properties={shape.properties} />;
  if (shape.kind === "array") return <ArrayField {...props} schema={schema} items={shape.items} />;
  if (shape.kind === "union") return <UnionField {...props} schema={schema} members={shape.members} />;
  return <PlainField {...props} schema={schema} shape={shape} />;
}

function PlainField({ shape, ...props }: FieldProps & { readonly shape: FieldShape }): ReactNode {
  const id = useId();
  return (
    <div className="field">
      <FieldLabel {...props} id={id} />
      <Input {...props} id={id} shape={shape} />
      <Description id={`${id}-says`} schema={props.schema} />
    </div>
  );
}

function Input({ id, shape, ...props }: FieldProps & { readonly id: string; readonly shape: FieldShape }): ReactNode {
  const { value, onChange, isRequired } = props;
  const common = { id, "aria-describedby": `${id}-says` };
  switch (shape.kind) {
    case "choice": {
      const chosen = value === undefined ? -1 : shape.values.findIndex((one) => isSameJson(one, value));
      return (
        <select {...common} value={chosen} onChange={({ target }) => onChange(shape.values[Number(target.value)])}>
          {(chosen < 0 || !isRequired) && <option value={-1}>–</option>}
          {shape.values.map((one, index) => (
            <option key={index} value={index}>
              {showHiddenCharacters(typeof one === "string" ? one : JSON.stringify(one), 80)}
            </option>
          ))}
        </select>
      );
    }
    case "boolean":
      return (
        <select
          {...common}
          value={typeof value === "boolean" ? String(value) : ""}
          onChange={({ target }) => onChange(target.value === "" ? undefined : target.value === "true")}
        >
          {(typeof value !== "boolean" || !isRequired) && <option value="">–</option>}
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      );
    case "number":
      return <NumberInput {...props} {...common} />;
    case "text":
      return <TextInput {...props} {...common} shape={shape} />;
    default:
      return <JsonField {...props} {...common} />;
  }
}

type Common = { readonly id: string; readonly "aria-describedby": string };

function TextInput({
  value,
  onChange,
  isRequired,
  shape,
  ...rest
}: FieldProps & Common & { readonly shape: FieldShape & { kind: "text" } }): ReactNode {
  const given = {
    id: rest.id,
    "aria-describedby": rest["aria-describedby"],
    spellCheck: false,
    value: typeof value === "string" ? value : "",
  };
  // An empty string is a value. If the field may be left out, clearing it leaves it out.
  const change = (text: string): void => onChange(text === "" && !isRequired ? undefined : text);
  if (shape.isLong) return <textarea {...given} rows={4} onChange={({ target }) => change(target.value)} />;
  return <input {...given} type="text" placeholder={shape.format} autoComplete="off" onChange={({ target }) => change(target.value)} />;
}

/** An input that keeps the text as it was typed. Nothing is sent until it is a number. */
function NumberInput({ value, onChange, path, onUnreadable, ...rest }: FieldProps & Common): ReactNode {
  const [text, setText] = useState<string>();
  const shown = text ?? (typeof value === "number" ? String(value) : "");
  const problem = text === undefined ? undefined : parseTypedNumber(text).problem;
  const isUnreadable = problem !== undefined;
  useEffect(() => {
    if (isUnreadable) onUnreadable(path, true);
    return () => onUnreadable(path, false);
  }, [path, isUnreadable, onUnreadable]);
  return (
    <>
      <input
        id={rest.id}
        aria-describedby={rest["aria-describedby"]}
        aria-invalid={problem !== undefined}
        type="text"
        inputMode="decimal"
        autoComplete="off"
        value={shown}
        onChange={({ target }) => {
          const read = parseTypedNumber(target.value);
          setText(target.value);
          if (read.problem === undefined) onChange(read.value);
        }}
        onBlur={() => problem === undefined && setText(undefined)}
      />
      {problem !== undefined && <p className="inline-failure">{problem}</p>}
    </>
  );
}

function ObjectField({ properties, ...props }: FieldProps & { readonly properties: readonly Property[] }): ReactNode {
  const { value, onChange, depth, path, root } = props;
  const object = isSchema(value) ? value : {};
  const fields = properties.map(({ name, schema, isRequired }) => (
    <SchemaField
      key={name}
      {...props}
      name={name}
      schema={schema}
      isRequired={isRequired}
      value={Object.hasOwn(object, name) ? object[name] : undefined}
      depth={depth + 1}
      path={`${path}/${name}`}
      onChange={(next) => onChange(withValue(object, name, next))}
    />
  ));
  if (depth === 0) return fields;
  return (
    <fieldset className="field-group">
      <legend>
        <Name {...props} />
      </legend>
      <Description schema={props.schema} />
      {value === undefined ? <AddButton name="Add" onAdd={() => onChange(createInitialValue(props.schema, root) ?? {})} /> : fields}
      {value !== undefined && !props.isRequired && <AddButton name="Leave out" onAdd={() => onChange(undefined)} />}
    </fieldset>
  );
}

const SHOWN_ITEMS = 100;

function ArrayField({ items, ...props }: FieldProps & { readonly items: Schema }): ReactNode {
  const { value, onChange, depth, path, root } = props;
  const [keys] = useState(() => new ItemKeys());
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  const remove = (index: number): void => {
    keys.remove(index);
    onChange(list.toSpliced(index, 1));
  };
  return (
    <fieldset className="field-group">
      <legend>
        <Name {...props} />
      </legend>
      <Description schema={props.schema} />
      {list.slice(0, SHOWN_ITEMS).map((item, index) => (
        <div key={keys.at(index)} className="field-item">
          <SchemaField
            {...props}
            name={String(index + 1)}
            schema={items}
            isRequired
            value={item}
            depth={depth + 1}
            path={`${path}/${index}`}
            onChange={(next) => onChange(list.with(index, next ?? null))}
          />
          <button type="button" className="button button-quiet" onClick={() => remove(index)}>
            Remove
          </button>
        </div>
      ))}
      {list.length > SHOWN_ITEMS && (
        <p className="muted">
          The first {SHOWN_ITEMS} are shown. The JSON has all {list.length}.
        </p>
      )}
      {list.length < SHOWN_ITEMS && <AddButton name="Add" onAdd={() => onChange([...list, createInitialValue(items, root) ?? null])} />}
    </fieldset>
  );
}

/** Keys of the items of an array. The fields of an item keep their state when an earlier item is removed. */
class ItemKeys {
  readonly #keys: number[] = [];
  #next = 0;

  at(index: number): number {
    while (this.#keys.length <= index) this.#keys.push(this.#next++);
    return this.#keys[index] ?? index;
  }

  remove(index: number): void {
    this.#keys.splice(index, 1);
  }
}

function UnionField({ members, ...props }: FieldProps & { readonly members: readonly Member[] }): ReactNode {
  const id = useId();
  const [chosen, change] = useChosenMember(members, props);
  const member = members[chosen];
  return (
    <fieldset className="field-group">
      <legend>
        <Name {...props} />
      </legend>
      <label className="field" htmlFor={id}>
        <span className="field-name">Form</span>
        <select
          id={id}
          value={chosen}
          onChange={({ target }) => {
            const next = Number(target.value);
            change(createInitialValue(members[next]?.schema ?? {}, props.root), next);
          }}
        >
          {members.map(({ name }, index) => (
            <option key={index} value={index}>
              {showHiddenCharacters(name, 80)}
            </option>
          ))}
        </select>
      </label>
      {member !== undefined && (
        <SchemaField key={chosen} {...props} schema={member.schema} depth={props.depth + 1} onChange={(next) => change(next, chosen)} />
      )}
    </fieldset>
  );
}

/** Returns the chosen member of a union, which is found again when the value changes elsewhere, and a function that changes the value. */
function useChosenMember(
  members: readonly Member[],
  { value, root, onChange }: FieldProps,
): readonly [number, (value: unknown, chosen: number) => void] {
  const [state, setState] = useState(() => ({ chosen: findMember(members, value, root), value }));
  let { chosen } = state;
  if ((state.value ?? null) !== (value ?? null)) {
    chosen = findMember(members, value, root, chosen);
    setState({ chosen, value });
  }
  const change = (next: unknown, member: number): void => {
    setState({ chosen: member, value: next });
    onChange(next);
  };
  return [chosen, change];
}

function AddButton({ name, onAdd }: { readonly name: string; readonly onAdd: () => void }): ReactNode {
  return (
    <button type="button" className="button button-quiet" onClick={onAdd}>
      {name}
    </button>
  );
}

function FieldLabel({ id, ...props }: FieldProps & { readonly id: string }): ReactNode {
  return (
    <label className="field-name" htmlFor={id}>
      <Name {...props} />
    </label>
  );
}

function Name({ name, schema, isRequired }: FieldProps): ReactNode {
  return (
    <>
      <UntrustedText text={name} maxLength={80} />
      {isRequired && <span className="required"> required</span>}
      {isNullable(schema) && <span className="muted"> or null</span>}
    </>
  );
}

function Description({ id, schema: { description } }: { readonly id?: string; readonly schema: Schema }): ReactNode {
  return (
    <p className="field-says" id={id}>
      {typeof description === "string" && <UntrustedText text={description} maxLength={500} />}
    </p>
  );
}

/** Returns the object with a value set. Names come from a schema: `__proto__` is a name like any other. */
function withValue(object: Schema, name: string, value: unknown): Schema {
  const entries = Object.entries(object).filter(([key]) => key !== name);
  const index = Object.keys(object).indexOf(name);
  if (value !== undefined) entries.splice(index < 0 ? entries.length : index, 0, [name, value]);
  return Object.fromEntries(entries);
}
