import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { transformSync } from 'esbuild';
import { packageRoot } from '../../src/runtime/package-root.js';

/** A realistic bug, as text to replace. A test that claims to find bugs must find it. */
export interface PlantedBug {
  readonly name: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
}

export const bug = (name: string, file: string, search: string, replace: string): PlantedBug => ({
  name,
  file,
  search,
  replace,
});

export interface Layout {
  /** Folders copied unchanged. */
  readonly copied: readonly string[];
  /**
   * Folders of sources, and where each is as JavaScript: a process that has to translate them starts far more
   * slowly.
   */
  readonly translated: Readonly<Record<string, string>>;
}

const tsconfigRaw = { compilerOptions: { verbatimModuleSyntax: true } };

const toJavaScript = (text: string) =>
  transformSync(text, { loader: 'ts', format: 'esm', target: 'es2022', tsconfigRaw }).code;

/** Copies of the package in which bugs are planted; the package itself is never changed. */
export class Greenhouse {
  readonly #base: string;

  constructor(readonly layout: Layout) {
    this.#base = mkdtempSync(join(tmpdir(), 'rosterd-planted-'));
    for (const part of ['schema', 'package.json', ...layout.copied])
      cpSync(join(packageRoot, part), join(this.#base, part), { recursive: true });
    for (const [from, to] of Object.entries(layout.translated))
      for (const path of readdirSync(join(packageRoot, from), { recursive: true, encoding: 'utf8' }))
        if (path.endsWith('.ts') && !path.endsWith('.test.ts'))
          this.#translate(this.#base, join(to, path), readFileSync(join(packageRoot, from, path), 'utf8'));
    symlinkSync(join(packageRoot, 'node_modules'), join(this.#base, 'node_modules'));
  }

  /** Returns a new copy with this bug in it, which the caller removes. */
  plant(bug: PlantedBug): string {
    const text = readFileSync(join(packageRoot, bug.file), 'utf8');
    const times = text.split(bug.search).length - 1;
    if (times !== 1)
      throw new Error(`"${bug.name}" no longer applies: its text occurs ${times} times in ${bug.file}`);
    const planted = text.replace(bug.search, () => bug.replace);
    const folder = mkdtempSync(join(tmpdir(), 'rosterd-planted-'));
    cpSync(this.#base, folder, { recursive: true, verbatimSymlinks: true });
    const { copied, translated } = this.layout;
    if (copied.some((part) => bug.file.startsWith(`${part}/`)) || !bug.file.endsWith('.ts'))
      writeFileSync(join(folder, bug.file), planted);
    for (const [from, to] of Object.entries(translated))
      if (bug.file.startsWith(`${from}/`))
        this.#translate(folder, join(to, bug.file.slice(from.length + 1)), planted);
    return folder;
  }

  close(): void {
    rmSync(this.#base, { recursive: true, force: true });
  }

  #translate(folder: string, path: string, text: string): void {
    const target = join(folder, path.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, toJavaScript(text));
  }
}

/**
 * Returns the bugs whose text is not in their file exactly once, or that change nothing: the sources have changed.
 */
export function withered(bugs: readonly PlantedBug[]): readonly string[] {
  return bugs
    .filter(({ file, search, replace }) => {
      const times = readFileSync(join(packageRoot, file), 'utf8').split(search).length - 1;
      return times !== 1 || search === replace;
    })
    .map(({ name }) => name);
}
