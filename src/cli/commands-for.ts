import { shellWord } from '../domain/shell-word.js';
import type { Command, Outline } from './command.js';
import { groups } from './commands/groups.js';

/** Each command by name, in the order of the help. To add one, write its file and name it here. */
const files: Readonly<Record<string, () => Promise<Command>>> = {
  demo: async () => (await import('./commands/demo.js')).demo,
  init: async () => (await import('./commands/init.js')).init,
  run: async () => (await import('./commands/run.js')).run,
  sync: async () => (await import('./commands/sync.js')).sync,
  pause: async () => (await import('./commands/pause.js')).pause,
  resume: async () => (await import('./commands/resume.js')).resume,
  'sources list': async () => (await import('./commands/sources-list.js')).sourcesList,
  'sources show': async () => (await import('./commands/sources-show.js')).sourcesShow,
  'sources pause': async () => (await import('./commands/sources-pause.js')).sourcesPause,
  'sources resume': async () => (await import('./commands/sources-resume.js')).sourcesResume,
  'sources forget': async () => (await import('./commands/sources-forget.js')).sourcesForget,
  'sources follow': async () => (await import('./commands/sources-follow.js')).sourcesFollow,
  status: async () => (await import('./commands/status.js')).status,
  runs: async () => (await import('./commands/runs.js')).runs,
  wait: async () => (await import('./commands/wait.js')).wait,
  doctor: async () => (await import('./commands/doctor.js')).doctor,
  'support-bundle': async () => (await import('./commands/support-bundle.js')).supportBundle,
  verify: async () => (await import('./commands/verify.js')).verify,
  query: async () => (await import('./commands/query.js')).query,
  mcp: async () => (await import('./commands/mcp.js')).mcp,
  export: async () => (await import('./commands/export.js')).exportCommand,
  'lake sync': async () => (await import('./commands/lake-sync.js')).lakeSync,
  'lake check': async () => (await import('./commands/lake-check.js')).lakeCheck,
  'lake sql': async () => (await import('./commands/lake-sql.js')).lakeSql,
  changes: async () => (await import('./commands/changes.js')).changes,
  history: async () => (await import('./commands/history.js')).history,
  forget: async () => (await import('./commands/forget.js')).forget,
  schema: async () => (await import('./commands/schema.js')).schema,
  migrate: async () => (await import('./commands/migrate.js')).migrate,
  backup: async () => (await import('./commands/backup.js')).backup,
  restore: async () => (await import('./commands/restore.js')).restore,
  connect: async () => (await import('./commands/connect.js')).connect,
  'vault status': async () => (await import('./commands/vault-status.js')).vaultStatus,
  'vault rotate': async () => (await import('./commands/vault-rotate.js')).vaultRotate,
  'vault remove': async () => (await import('./commands/vault-remove.js')).vaultRemove,
  'endpoints list': async () => (await import('./commands/endpoints-list.js')).endpointsList,
  'endpoints show': async () => (await import('./commands/endpoints-show.js')).endpointsShow,
  'endpoints create': async () => (await import('./commands/endpoints-create.js')).endpointsCreate,
  'endpoints update': async () => (await import('./commands/endpoints-update.js')).endpointsUpdate,
  'endpoints rotate': async () => (await import('./commands/endpoints-rotate.js')).endpointsRotate,
  'endpoints test': async () => (await import('./commands/endpoints-test.js')).endpointsTest,
  'endpoints deliveries': async () =>
    (await import('./commands/endpoints-deliveries.js')).endpointsDeliveries,
  'endpoints resend': async () => (await import('./commands/endpoints-resend.js')).endpointsResend,
  'endpoints reenable': async () => (await import('./commands/endpoints-reenable.js')).endpointsReenable,
  'endpoints delete': async () => (await import('./commands/endpoints-delete.js')).endpointsDelete,
  'service install': async () => (await import('./commands/service-install.js')).serviceInstall,
  sandbox: async () => (await import('./commands/sandbox.js')).sandbox,
  trigger: async () => (await import('./commands/trigger.js')).trigger,
  listen: async () => (await import('./commands/listen.js')).listen,
  'config validate': async () => (await import('./commands/config-validate.js')).configValidate,
  'config show': async () => (await import('./commands/config-show.js')).configShow,
  'config schema': async () => (await import('./commands/config-schema.js')).configSchema,
  completion: async () => (await import('./commands/completion.js')).completion,
  version: async () => (await import('./commands/version.js')).version,
};

const withoutConfig = ['demo', 'lake check', 'lake sql', 'sandbox', 'config schema', 'completion', 'version'];

export const takesConfig = (name: string): boolean =>
  Object.hasOwn(files, name) && !withoutConfig.includes(name);

/** Where a line begins to say what to type. */
const advice = /\b(?:[Tt]ry|Next): |: (?=rosterd )/;
const typed = /(?<![\w./-])rosterd ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?(?! --config)\b/g;

/**
 * Returns a note with `--config FILE` in the commands that it says to type: without it, they would speak of the mirror of
 * ./config.json.
 */
export function adviceWithConfig(note: string, file: string): string {
  const at = note.search(advice);
  if (at === -1) return note;
  const given = ` --config ${shellWord(file)}`;
  const completed = note.slice(at).replaceAll(typed, (all, first: string, second = '') => {
    if (takesConfig(`${first} ${second}`)) return `${all}${given}`;
    return takesConfig(first) ? `rosterd ${first}${given}${second === '' ? '' : ` ${second}`}` : all;
  });
  return note.slice(0, at) + completed;
}

/**
 * Returns the one command these words name, without loading the files of the others: that keeps `rosterd status` fast.
 * For anything else, such as help, returns an outline of every command, which loads the command when it runs.
 */
export async function commandsFor([first = '', second = '']: readonly string[]): Promise<readonly Command[]> {
  const name = Object.hasOwn(groups, first) ? `${first} ${second}` : first;
  const load = Object.hasOwn(files, name) ? files[name] : undefined;
  if (load !== undefined) return [await load()];
  const { outlines } = await import('./commands/outlines.js');
  return outlines.map(commandOf);
}

/** An outline has no options of its own: only a command named in an unusual way, such as `rosterd -- status`, runs it. */
function commandOf(outline: Outline): Command {
  return {
    ...outline,
    examples: [],
    run: async (context) => {
      const command = await files[outline.name]?.();
      if (command === undefined) throw new Error(`no file has the command ${outline.name}`);
      return await command.run(context);
    },
  };
}

/** Returns every command, in the order of the help. Loads the files of all. */
export async function allCommands(): Promise<readonly Command[]> {
  return await Promise.all(Object.values(files).map((load) => load()));
}
