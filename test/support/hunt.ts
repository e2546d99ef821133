import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { Greenhouse, type Layout, type PlantedBug } from './planting.js';

export interface Hunt<Bug extends PlantedBug> {
  readonly layout: Layout;
  readonly bugs: readonly Bug[];
  readonly jobs: number;
  /** Node arguments of the process that searches for this bug, in the folder where it is planted. */
  readonly command: (bug: Bug) => readonly string[];
  /** Recognises the line that reports a finding. */
  readonly finding: (line: string) => boolean;
}

/**
 * Plants one bug after the other, searches for it and prints the result. Returns the findings, null for a miss.
 */
export async function hunt<Bug extends PlantedBug>(hunt: Hunt<Bug>): Promise<(string | null)[]> {
  const { layout, bugs, jobs, command, finding } = hunt;
  const greenhouse = new Greenhouse(layout);
  const waiting = [...bugs];
  const found: (string | null)[] = [];
  const worker = async () => {
    for (let bug = waiting.shift(); bug !== undefined; bug = waiting.shift()) {
      const folder = greenhouse.plant(bug);
      const { text, code } = await printedBy(command(bug), folder);
      rmSync(folder, { recursive: true, force: true });
      const line = text.split('\n').find(finding) ?? null;
      found.push(line);
      if (line !== null) console.log(`caught  ${bug.name}  (${line.slice(0, 110)})`);
      else console.log(`MISSED  ${bug.name}${code === 0 ? '' : `\n${text.slice(0, 2_000)}`}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: jobs }, worker));
  } finally {
    greenhouse.close();
  }
  return found;
}

function printedBy(args: readonly string[], cwd: string): Promise<{ text: string; code: number | null }> {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ text, code }));
  });
}
