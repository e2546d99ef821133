import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ArgumentDefinition } from '../../src/cli/command.js';
import { allCommands } from '../../src/cli/commands-for.js';
import { manPage } from '../../src/cli/completion/man-page.js';
import { configSchemaText, describeConfig, type OptionRow } from '../../src/config/describe.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { renderDatasette } from '../../src/store/dictionary/datasette.js';
import { renderDictionary } from '../../src/store/dictionary/render.js';
import { documentedQueries } from '../../src/store/documented-queries.js';
import { apiDescription } from './api-description.js';

const commands = await allCommands();

/** Pages people write, with sections the code writes. */
const pages = ['docs/commands.md', 'docs/configuration.md', 'docs/library.md', 'docs/recipes.md'];

/** Files generated from the code. A test compares each with its current content. */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map<string, string>([
    ['schema/config.schema.json', configSchemaText()],
    ['src/cli/commands/outlines.ts', outlinesText()],
    ['schema/dictionary.md', renderDictionary()],
    ['schema/datasette.json', renderDatasette()],
    ['schema/rosterd.1', manPage(commands)],
    ['schema/openapi.json', `${JSON.stringify(apiDescription(), null, 2)}\n`],
    ...pages.map((path) => [path, withSections(path)] as const),
  ]);
}

/** The list of commands, so that help need not load the file of each; formatted as the linter wants it. */
function outlinesText(): string {
  return [
    "import type { Outline } from '../command.js';",
    '',
    '/** In the order of the help. Generated from the commands: see CONTRIBUTING.md. */',
    'export const outlines: readonly Outline[] = [',
    ...commands.flatMap(({ name, summary, args }) => [
      '  {',
      property('name', name, '    '),
      property('summary', summary, '    '),
      ...(args === undefined ? [] : ['    args: [', ...args.map(argumentText), '    ],']),
      '  },',
    ]),
    '];',
    '',
  ].join('\n');
}

const argumentText = ({ name, summary }: ArgumentDefinition): string =>
  ['      {', property('name', name, '        '), property('summary', summary, '        '), '      },'].join(
    '\n',
  );

function property(name: string, text: string, indent: string): string {
  const line = `${indent}${name}: ${quoted(text)},`;
  return line.length <= 110 ? line : `${indent}${name}:\n${indent}  ${quoted(text)},`;
}

const quoted = (text: string): string =>
  text.includes("'") ? JSON.stringify(text) : `'${text.replaceAll('\\', '\\\\')}'`;

const sections: Readonly<Record<string, () => string>> = {
  example: () =>
    `\`\`\`ts\n${readFileSync(join(packageRoot, 'test/library/example.ts'), 'utf8').trim()}\n\`\`\`\n`,
  commands: () =>
    table(
      ['Command', 'Does'],
      commands.map(({ name, args = [], summary }) => [
        `\`${[name, ...args.map((arg) => arg.name)].join(' ')}\``,
        summary,
      ]),
    ),
  queries: () =>
    documentedQueries
      .map(
        ({ name, question, sql, postgres, identity }) =>
          `### ${name}\n\n${question}${identity ? ' Names people.' : ''}\n\n${fenced(sql)}` +
          (postgres === undefined ? '' : `On PostgreSQL:\n\n${fenced(postgres)}`),
      )
      .join(''),
  options: () =>
    table(
      ['Option', 'Default', 'Meaning'],
      describeConfig().map((row) => [
        `\`${row.path}\``,
        row.required ? requiredText(row) : row.default === null ? '' : `\`${row.default}\``,
        row.description,
      ]),
    ),
};

const fenced = (sql: string): string => `\`\`\`sql\n${sql}\n\`\`\`\n\n`;

const requiredText = ({ within }: OptionRow): string =>
  within === null ? '(required)' : `(required in \`${within}\`)`;

/** Replaces the text between `<!-- generated: NAME -->` and `<!-- end -->`; an unknown name is an error. */
function withSections(path: string): string {
  return readFileSync(join(packageRoot, path), 'utf8').replaceAll(
    /(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)/gs,
    (_all, open, name: string, close) => {
      const section = sections[name];
      if (section === undefined) throw new Error(`${path} has an unknown generated section ${name}`);
      return `${open}${section()}${close}`;
    },
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('');
}
