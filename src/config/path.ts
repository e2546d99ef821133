export type Path = readonly (string | number)[];

/** Returns the path as text: `sources[0].token`. */
export function pathText(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/**
 * Parses `sources[0].token` and `sources.0.token`. A number of more than four digits is no index: no list is that long, and
 * one with so many empty places could not be validated.
 */
export function parsePath(text: string): Path {
  return text
    .replaceAll(/\[(\d+)\]/g, '.$1')
    .split('.')
    .filter((step) => step !== '')
    .map((step) => (/^\d{1,4}$/.test(step) ? Number(step) : step));
}

export function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** Returns true when `inner` is `outer` or lies inside it. */
export function isWithin(inner: Path, outer: Path): boolean {
  return outer.length <= inner.length && outer.every((step, index) => step === inner[index]);
}
