import { shownAddress } from './database.js';
import type { LoadedConfig } from './document.js';
import { configJsonSchema } from './json-schema.js';
import { environmentName } from './overrides.js';
import { type Path, pathText } from './path.js';
import { childOf, isSecretPath, propertiesOf, type SchemaNode, typeText, variantsOf } from './schema-tree.js';
import { Secret } from './secrets.js';

export interface OptionRow {
  readonly path: string;
  readonly type: string;
  /** As JSON; null when the option has no default. */
  readonly default: string | null;
  /** Required whenever its group is given. */
  readonly required: boolean;
  /** The group, when the group itself is optional: `platform.application`, `notices[]`. */
  readonly within: string | null;
  readonly description: string;
  readonly environment: string;
}

/** Returns one row per option, in the order of the declarations. The table of options in the docs is generated from it. */
export function describeConfig(): readonly OptionRow[] {
  return rowsBelow(configJsonSchema(), [], null);
}

function rowsBelow(node: SchemaNode, below: Path, within: string | null): readonly OptionRow[] {
  const required = new Set(variantsOf(node).flatMap((variant) => variant.required ?? []));
  return Object.entries(propertiesOf(node)).flatMap(([key, child]) => {
    const path = [...below, key];
    const item = childOf(child, 0);
    const holdsOptions = (inner: SchemaNode) =>
      inner.writeOnly !== true && Object.keys(propertiesOf(inner)).length > 0;
    if (key === '$schema') return [];
    const group = required.has(key) ? within : textOf(path);
    if (holdsOptions(child)) return rowsBelow(child, path, group);
    if (child.writeOnly !== true && item !== undefined && holdsOptions(item)) {
      return rowsOfItems(item, [...path, 0], required.has(key) ? within : textOf([...path, 0]));
    }
    return [
      {
        path: textOf(path),
        type: typeText(child),
        default: child.default === undefined ? null : JSON.stringify(child.default),
        required: required.has(key),
        within: kindWithin(node, key, within),
        description: child.description ?? '',
        environment: environmentName(path),
      },
    ];
  });
}

/** Returns the rows of each form of a list's items. Forms without a `kind` are told apart by a key that one of them has. */
function rowsOfItems(item: SchemaNode, path: Path, within: string | null): readonly OptionRow[] {
  const [first, ...others] = variantsOf(item);
  if (first === undefined || others.length === 0 || first.properties?.kind !== undefined)
    return rowsBelow(item, path, within);
  const rows = [...rowsBelow(first, path, within)];
  for (const other of others) {
    const mark = other.required?.find((key) => first.properties?.[key] === undefined);
    const form = mark === undefined ? within : `${textOf(path)} with ${mark}`;
    const more = rowsBelow(other, path, form);
    rows.push(
      ...more.filter(
        (row) => !rows.some((one) => one.path === row.path && one.description === row.description),
      ),
    );
  }
  return rows;
}

/** Names the kind of group that has the option, when not all kinds have it: `notices[] of kind slack`. */
function kindWithin(node: SchemaNode, key: string, within: string | null): string | null {
  const kinds = variantsOf(node).filter(({ properties }) => properties !== undefined);
  const own = kinds.filter(({ properties }) => properties?.[key] !== undefined);
  if (within === null || own.length === kinds.length) return within;
  return `${within} of kind ${own.map(({ properties }) => String(properties?.kind?.const)).join(' or ')}`;
}

const textOf = (path: Path): string => pathText(path).replaceAll('[0]', '[]');

export interface SettingRow {
  readonly path: string;
  readonly value: unknown;
  readonly from: string;
}

/** Returns every effective value and its origin. A secret shows only its origin, never its value. */
export function effectiveSettings(loaded: LoadedConfig): readonly SettingRow[] {
  const root = configJsonSchema();
  const rows: SettingRow[] = [];
  const visit = (value: unknown, path: Path): void => {
    const text = pathText(path);
    const add = (shown: unknown) => rows.push({ path: text, value: shown, from: loaded.originOf(path) });
    if (isSecretPath(root, path) && !Array.isArray(value))
      add(String(new Secret(text, value as string, { env: {}, folder: '' })));
    else if (Array.isArray(value) && value.length > 0)
      for (const [index, item] of value.entries()) visit(item, [...path, index]);
    else if (isFilledObject(value))
      for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key]);
    else if (value !== undefined && text !== '$schema')
      add(text === 'database' ? shownAddress(String(value)) : value);
  };
  visit(loaded.settings, []);
  return rows;
}

const isFilledObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

/** Returns the text of schema/config.schema.json. */
export function configSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}
