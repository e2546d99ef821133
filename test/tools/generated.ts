import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commands } from '../../src/cli/commands/index.js';
import { configSchemaText, describeConfig } from '../../src/config/describe.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { renderDictionary } from '../../src/store/dictionary/render.js';
import { apiDescription } from './api-description.js';

/** Files made from the code, whole. A test holds each to what it would be made of now. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['schema/config.schema.json', configSchemaText()],
    ['schema/dictionary.md', renderDictionary()],
    ['schema/openapi.json', `${JSON.stringify(apiDescription(), null, 2)}\n`],
    ['README.md', withSections(readFileSync(join(packageRoot, 'README.md'), 'utf8'))],
  ]);
}

const sections: Readonly<Record<string, () => string>> = {
  commands: () =>
    table(
      ['Command', 'Does'],
      commands.map(({ name, args = [], summary }) => [
        `\`${[name, ...args.map((arg) => arg.name)].join(' ')}\``,
        summary,
      ]),
    ),
  options: () =>
    table(
      ['Option', 'Default', 'Meaning'],
      describeConfig().map((row) => [
        `\`${row.path}\``,
        row.required ? '(required)' : row.default === null ? '' : `\`${row.default}\``,
        row.description,
      ]),
    ),
};

/** What stands between `<!-- generated: NAME -->` and `<!-- end -->` is replaced; a name nobody knows is an error. */
function withSections(text: string): string {
  return text.replaceAll(
    /(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)/gs,
    (_all, open, name: string, close) => {
      const section = sections[name];
      if (section === undefined) throw new Error(`README asks for a section called ${name}`);
      return `${open}${section()}${close}`;
    },
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('');
}
