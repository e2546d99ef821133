import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { type Block, blocksOf } from './page-blocks.js';
import { sameOutput } from './same-output.js';

export interface Tried {
  readonly run: number;
  readonly compared: number;
  readonly notRun: number;
  /** The first mismatch or failure; null when everything matches the page. */
  readonly wrong: string | null;
}

export interface TryOptions {
  /** Working directory of the commands: a temporary folder that looks like a clone. */
  readonly folder: string;
  readonly seconds: number;
  /** Runs before the page in the same shell: replacements for commands that would take too long. */
  readonly preamble: string;
}

/** Runs the blocks of a page in one shell and compares their output with what the page shows. */
export async function tryPage(page: string, options: TryOptions): Promise<Tried> {
  const all = blocksOf(page);
  const blocks = all.filter((block) => block.kind === 'run' || block.kind === 'background');
  const mark = randomUUID();
  const typed = blocks.map((block, at) => `${lines(block, at)}\nprintf '%s\\n' '${mark}'\n`).join('');
  const { code, out, err } = await inShell(`${options.preamble}\n${typed}`, options);
  const printed = out.split(`${mark}\n`);
  const counts = {
    run: blocks.length,
    compared: blocks.filter((block) => block.kind === 'run' && block.shown !== null).length,
    notRun: all.length - blocks.length,
  };
  const stopped = blocks[printed.length - 1];
  if (code !== 0)
    return { ...counts, wrong: `ended with ${code}:\n${stopped?.commands ?? ''}\n${printed.at(-1)}${err}` };
  for (const [at, block] of blocks.entries()) {
    const got = printed[at] ?? '';
    if (block.kind !== 'run' || block.shown === null || sameOutput(block.shown, got)) continue;
    return { ...counts, wrong: `${block.commands}\nshown:\n${block.shown.text}\nprinted:\n${got}` };
  }
  return { ...counts, wrong: null };
}

/** A background program replaces its subshell (`exec`), so that signals reach it. */
function lines(block: Block, at: number): string {
  if (block.kind !== 'background') return block.commands;
  const log = `.background-${at}.log`;
  return `: > ${log}
( in_background=yes; ${block.commands.trim()}
) > ${log} 2>&1 &
running=$!
until grep -qF -- ${quoted(block.until)} ${log}; do
  kill -0 "$running" || { cat ${log} >&2; exit 1; }
  sleep 0.1
done`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function inShell(script: string, { folder, seconds }: TryOptions) {
  // Its own process group, so that background processes of a block can be killed at the end.
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid } = shell;
  const endAll = () => {
    try {
      if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    } catch {
      // The process group has already ended.
    }
  };
  const tooLong = setTimeout(endAll, seconds * 1_000);
  let out = '';
  let err = '';
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  shell.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return new Promise<{ code: number | string; out: string; err: string }>((resolve, reject) => {
    shell.on('error', reject);
    // A process that still runs keeps the pipes open, so kill the group before waiting for the rest of the output.
    shell.on('exit', endAll);
    shell.on('close', (code, signal) => {
      clearTimeout(tooLong);
      resolve({ code: code ?? `${signal} (${seconds} s are the most a page may take)`, out, err });
    });
  });
}
