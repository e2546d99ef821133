import { Fault } from '../domain/fault.js';

/** The functions that each part of the options must have. */
const parts = {
  logger: ['debug', 'info', 'warn', 'error', 'child'],
  clock: ['now', 'monotonic', 'wait'],
} as const;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const wrong = (message: string, hint: string): Fault => new Fault('usage', message, { hint });

/**
 * Throws `usage` for what a program without types can get wrong beside the configuration, before it fails far from its
 * cause. Never shows a value: `env` has secrets.
 */
export function checkOptions(options: unknown): void {
  if (!isObject(options))
    throw wrong('createMirror needs an object with its options', 'createMirror({ config: { … } })');
  const { cwd, env } = options;
  if (cwd !== undefined && typeof cwd !== 'string')
    throw wrong('cwd is not a text', 'the path of a folder, or leave it out');
  if (env !== undefined && !isObject(env))
    throw wrong('env is not an object', 'variables by name, such as process.env, or leave it out');
  const odd = Object.entries(env ?? {}).find(([, value]) => !['string', 'undefined'].includes(typeof value));
  if (odd !== undefined) throw wrong(`env.${odd[0]} is not a text`, 'the values of env are texts');
  for (const [name, methods] of Object.entries(parts)) checkMethods(name, options[name], methods);
}

/** Throws `usage` for a listener that cannot be called. */
export function checkListener(method: string, listener: unknown): void {
  if (typeof listener !== 'function')
    throw wrong(`${method} needs a function`, `mirror.${method}((changes) => { … })`);
}

function checkMethods(name: string, part: unknown, methods: readonly string[]): void {
  if (part === undefined) return;
  const missing = isObject(part) ? methods.find((method) => typeof part[method] !== 'function') : methods[0];
  if (missing !== undefined)
    throw wrong(
      `${name} has no method ${missing}`,
      `an object with ${methods.slice(0, -1).join(', ')} and ${methods.at(-1)}, or leave ${name} out`,
    );
}
