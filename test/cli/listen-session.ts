import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { systemClock } from '../../src/runtime/clock.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import type { Received } from '../platform/webhooks/receiver.js';
import type { Desk } from './connect-session.js';
import { type FakeIo, rosterd } from './fake-io.js';

/** A `rosterd listen` that runs until `stop`. */
export interface ListenSession {
  readonly io: FakeIo;
  type(text: string): void;
  stop(): ReturnType<typeof rosterd>;
  /** Waits until the output has a match. */
  shows(pattern: RegExp, where?: () => string): Promise<RegExpExecArray>;
}

/** Runs the command in this process, with a stdin to type on. */
export function listenSession(args: readonly string[], ioOf: Desk['io'], sandbox: string): ListenSession {
  const stdin = new PassThrough();
  const io = ioOf({ stdin, env: { ROSTERD_SANDBOX: sandbox } });
  const ended = rosterd(['listen', ...args], io);
  return {
    io,
    type: (text) => void stdin.write(text),
    stop: () => {
      io.signals.emit('SIGINT');
      return ended;
    },
    shows: (pattern, where = () => io.out()) => matched(where, pattern, ended),
  };
}

/** Runs the command as a process of the built package. */
export function listenProcess(args: readonly string[], sandbox: string) {
  const main = join(packageRoot, 'dist', 'cli', 'main.js');
  const child = spawn(process.execPath, [main, 'listen', ...args], {
    cwd: packageRoot,
    env: { PATH: process.env.PATH, ROSTERD_SANDBOX: sandbox },
  });
  let out = '';
  child.stdout.on('data', (chunk) => {
    out += String(chunk);
  });
  const closed = once(child, 'close');
  return {
    type: (text: string) => void child.stdin.write(text),
    shows: (pattern: RegExp) => matched(() => out, pattern, closed),
    /** Returns the exit code and the signal that ended it. */
    kill: async (signal: NodeJS.Signals): Promise<unknown[]> => {
      child.kill(signal);
      return await closed;
    },
  };
}

async function matched(
  text: () => string,
  pattern: RegExp,
  ended: Promise<unknown>,
): Promise<RegExpExecArray> {
  let over = false;
  void ended.then(() => {
    over = true;
  });
  for (let tries = 0; tries < 800; tries += 1) {
    const match = pattern.exec(text());
    if (match !== null) return match;
    if (over) break;
    await systemClock.wait(10);
  }
  throw new Error(`no ${pattern} in: ${text()}`);
}

/** Returns the signature that a delivery must have when it was signed with the secret. */
export function signatureOf(secret: string, got: Received | undefined): string {
  const t = /^t=(\d+),/.exec(String(got?.headers['service-signature']))?.[1];
  return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${got?.body}`).digest('hex')}`;
}
