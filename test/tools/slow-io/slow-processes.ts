import { ChildProcess } from 'node:child_process';
import { orderOf, shareOrder } from './in-order.js';
import { type Setting, settingName, settingText } from './setting.js';
import { fractionOf, type Slowness } from './slowness.js';

interface Internals {
  readonly stdio?: readonly (object | null)[];
  readonly _handle: { onexit: (...results: unknown[]) => void } | null;
}

interface StartOptions {
  envPairs: string[] | undefined;
}

/** Delays the start of this process, in which nothing else runs yet. */
export function startLate(slowness: Slowness): void {
  const millis = slowness.late('start');
  if (millis > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis);
}

/** Delays messages between this process and its parent or children; each channel keeps its order. */
function slowMessages(emitter: { emit: (...args: never[]) => boolean }, slowness: Slowness): void {
  const emit = emitter.emit as (...args: unknown[]) => boolean;
  emitter.emit = function (this: object, ...args: unknown[]) {
    if (args[0] !== 'message' && args[0] !== 'disconnect') return emit.apply(this, args);
    orderOf(this)(slowness.late('message'), () => emit.apply(this, args));
    return true;
  } as typeof emitter.emit;
}

/**
 * Delays what a child process prints and sends, and the news that it ended, in this order. Each child process gets a seed of
 * its own, as long as its environment passes the variable on. One that is given another setting keeps that.
 */
export function slowProcesses(slowness: Slowness, { seed, longest }: Setting): void {
  let children = 0;
  const inherited = `${settingName}=${settingText({ seed, longest })}`;
  const prototype = ChildProcess.prototype as unknown as { spawn: (options: StartOptions) => number };
  const { spawn } = prototype;
  prototype.spawn = function (this: Internals, options) {
    children += 1;
    const own = { seed: Math.floor(fractionOf(seed, 'child', children) * 2 ** 31), longest };
    options.envPairs = options.envPairs?.map((pair) =>
      pair === inherited ? `${settingName}=${settingText(own)}` : pair,
    );
    const handle = this._handle;
    if (handle !== null) {
      const { onexit } = handle;
      handle.onexit = (...results) => orderOf(this)(slowness.late('exit'), () => onexit(...results));
    }
    const error = spawn.call(this, options);
    // A process reads what its child wrote before it learns that the child ended: libuv looks at signals last.
    shareOrder([this, ...(this.stdio ?? []).filter((stream) => stream !== null)]);
    return error;
  };
  slowMessages(ChildProcess.prototype, slowness);
}

export const slowParentMessages = (slowness: Slowness) => slowMessages(process, slowness);
