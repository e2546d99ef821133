import { McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { boxLimits } from '../reading/boxed-query.js';
import type { Logger } from '../runtime/logger.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { renderDictionary } from '../store/dictionary/render.js';
import { documentedQueries } from '../store/documented-queries.js';
import { answered } from './answer.js';
import { guide } from './guide.js';
import { changesMax, changesText, historyText, queryReader, type ReadParts, statusText } from './reads.js';
import { relationNames, schemaOf, schemaOverview } from './schema.js';

export interface ServerParts extends ReadParts {
  readonly logger: Logger;
  readonly version: string;
}

/** Every tool reads, and only from this mirror. */
const annotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

const source = z.string().optional().describe('Only this source');
const asOf = z
  .string()
  .optional()
  .describe('Read the mirror as it stood at this time: a day such as 2026-03-31, or a time with its zone');

/** Returns a server with all tools and resources, for one connection. */
export function createAssistantServer(parts: ServerParts): McpServer {
  const { identity, location } = parts;
  const dialect = dialectFor(location);
  const engine = dialect.file === null ? 'PostgreSQL' : 'SQLite';
  const server = new McpServer(
    { name: 'rosterd', title: 'rosterd: investor records', version: parts.version },
    { instructions: guide({ identity, engine }) },
  );
  const runQuery = queryReader(parts);
  const people = identity
    ? 'The views identities and roster have names, emails and addresses.'
    : 'Statements that read names or message bodies are refused.';

  server.registerTool(
    'describe_schema',
    {
      title: 'Describe tables and views',
      description:
        'Lists the tables and views of the mirror with their meaning; with names, their columns, types, meanings and when each is null. Call it before you write SQL.',
      inputSchema: z.object({
        names: z
          .array(z.string())
          .max(50)
          .optional()
          .describe('Tables and views to describe column by column, such as investments and round_totals'),
      }),
      annotations,
    },
    ({ names = [] }) =>
      answered('describe_schema', parts, async () =>
        names.length === 0 ? schemaOverview(identity) : schemaOf(names, identity),
      ),
  );

  server.registerTool(
    'query',
    {
      title: 'Run SQL',
      description: `Runs one read-only ${engine} statement on the mirror and returns columns and rows as JSON. At most ${boxLimits.seconds} seconds, ${boxLimits.rows} rows and ${boxLimits.megabytes} MB: aggregate in SQL. Columns that end in _cents are whole cents. ${people}`,
      inputSchema: z.object({
        sql: z.string().min(1).max(20_000).describe('One SELECT (or WITH … SELECT) without parameters'),
        as_of: asOf,
      }),
      annotations,
    },
    ({ sql, as_of }, { mcpReq }) => answered('query', parts, () => runQuery(sql, as_of, mcpReq.signal)),
  );

  server.registerTool(
    'example_queries',
    {
      title: 'Example queries',
      description:
        'Returns tested SQL for common questions of analysts: totals, concentration, escrow, lost investments. Adapt one instead of starting from nothing.',
      inputSchema: z.object({}),
      annotations,
    },
    () => answered('example_queries', parts, async () => exampleQueries(parts)),
  );

  server.registerTool(
    'status',
    {
      title: 'Freshness and health',
      description:
        'Returns for every source whether its rows are complete, up to which time, and what is wrong if anything is. Call it before you report numbers.',
      inputSchema: z.object({}),
      annotations,
    },
    () => answered('status', parts, () => statusText(parts)),
  );

  server.registerTool(
    'history',
    {
      title: 'History of an investment',
      description:
        'Returns every stored version of one investment, newest first: when each was valid (valid_from, valid_to) and what ended it.',
      inputSchema: z.object({
        id: z.string().describe('Id of the investment; it begins with inv_'),
        source,
        as_of: asOf,
      }),
      annotations,
    },
    ({ id, source: only, as_of }) =>
      answered('history', parts, () => historyText(parts, { id, source: only, asOf: as_of })),
  );

  server.registerTool(
    'changes',
    {
      title: 'Changes',
      description:
        'Returns changes of the mirror in commit order, with the values of the changed columns before and after. Without since: the newest ones. With since: those after that number; continue with next_since while more is true.',
      inputSchema: z.object({
        since: z.int().min(0).optional().describe('Return changes with a greater number (seq)'),
        source,
        limit: z.int().min(1).max(changesMax).default(100).describe(`Number of changes, up to ${changesMax}`),
      }),
      annotations,
    },
    (wanted) =>
      answered('changes', parts, () =>
        changesText(parts, { since: wanted.since, source: wanted.source, limit: wanted.limit }),
      ),
  );

  addResources(server, parts);
  return server;
}

function addResources(server: McpServer, parts: ServerParts): void {
  const markdown = 'text/markdown';
  server.registerResource(
    'dictionary',
    'rosterd://dictionary',
    {
      title: 'Data dictionary',
      description: 'Every table, view and column of the mirror, with its meaning',
      mimeType: markdown,
    },
    ({ href }) => ({ contents: [{ uri: href, mimeType: markdown, text: renderDictionary() }] }),
  );
  server.registerResource(
    'queries',
    'rosterd://queries',
    { title: 'Example queries', description: 'Tested SQL for common questions', mimeType: markdown },
    ({ href }) => ({ contents: [{ uri: href, mimeType: markdown, text: exampleQueries(parts) }] }),
  );
  server.registerResource(
    'status',
    'rosterd://status',
    {
      title: 'Freshness and health',
      description: 'The state of every source, and up to which time its rows are complete',
      mimeType: 'application/json',
    },
    async ({ href }) => ({
      contents: [{ uri: href, mimeType: 'application/json', text: await statusText(parts) }],
    }),
  );
  server.registerResource(
    'table',
    new ResourceTemplate('rosterd://tables/{name}', {
      list: () => ({
        resources: relationNames.map((name) => ({
          uri: `rosterd://tables/${name}`,
          name,
          mimeType: markdown,
        })),
      }),
      complete: { name: (typed) => relationNames.filter((name) => name.startsWith(typed)) },
    }),
    { title: 'A table or view', description: 'The columns of one table or view', mimeType: markdown },
    ({ href }, { name }) => ({
      contents: [{ uri: href, mimeType: markdown, text: schemaOf([String(name)], parts.identity) }],
    }),
  );
}

/** Returns the documented queries for this database, with one of the configured sources in place of the example's. */
function exampleQueries({ location, config, identity }: ReadParts): string {
  const dialect = dialectFor(location);
  const configured = config?.sources[0]?.name;
  return documentedQueries
    .filter((query) => identity || !query.identity)
    .map((query) => {
      const sql = dialect.sqlOf(query);
      const adapted = configured === undefined ? sql : sql.replaceAll("'acme'", `'${configured}'`);
      return `${query.question}\n\n\`\`\`sql\n${adapted}\n\`\`\``;
    })
    .join('\n\n');
}
