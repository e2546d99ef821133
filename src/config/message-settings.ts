import { z } from 'zod';
import { secretMark, secretReference, sourceName, webAddress } from './values.js';

/** Notices and hooks: what rosterd sends, and to whom. */

const rules = z
  .strictObject({
    sources: z.array(sourceName).optional().meta({ description: 'Only changes of these sources' }),
    kinds: z
      .array(z.enum(['added', 'changed', 'removed']))
      .min(1)
      .optional()
      .meta({ description: 'Only these kinds of change' }),
    fields: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .meta({ description: 'Only changes of at least one of these columns' }),
    statuses: z.array(z.string().min(1)).min(1).optional().meta({
      description: 'Only records whose status is one of these, before the change or after it',
    }),
    minCommittedCents: z.int().min(0).optional().meta({
      description: 'Only records with at least this amount committed in cents, before or after',
    }),
  })
  .prefault({})
  .meta({
    description: 'Which changes to send: those that match every given rule, or all changes without rules',
  });

const noticeName = sourceName.meta({ description: 'Unique name of the receiver, shown in status and logs' });
const about = z
  .array(z.enum(['changes', 'alerts']))
  .min(1)
  .default(['changes'])
  .meta({
    description:
      'What to send: `changes` of investments, or `alerts` for operators (a source that is halted, failing or stale, a failed backup, a full disk …)',
  });
const kindMeaning = 'Type of receiver: a Slack channel, a signed HTTP request or a local command';
export const notice = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('slack').meta({ description: kindMeaning }),
      name: noticeName,
      about,
      webhookUrl: secretReference.meta({ ...secretMark, description: 'Incoming-webhook URL of the channel' }),
      rules,
    }),
    z.strictObject({
      kind: z.literal('http').meta({ description: kindMeaning }),
      name: noticeName,
      about,
      url: webAddress.meta({ description: 'Address that receives each notice as an HTTP POST' }),
      secret: secretReference.meta({ ...secretMark, description: 'Key that signs each notice' }),
      rules,
    }),
    z.strictObject({
      kind: z.literal('command').meta({ description: kindMeaning }),
      name: noticeName,
      about,
      command: z.array(z.string()).min(1).meta({
        description: 'Program and arguments, run without a shell; it reads the notice as JSON on stdin',
      }),
      rules,
    }),
  ])
  .meta({
    description:
      'One receiver of change notices, which contain ids, amounts and names of companies and rounds, never of people',
  });

const hookName = sourceName.meta({ description: 'Unique name of the hook, shown in status and logs' });
const hookSources = z.array(sourceName).min(1).optional().meta({
  description: 'Only after changes of these sources; without it, of all',
});
const delaySeconds = z.int().min(0).max(86_400).default(10).meta({
  description: 'Seconds to wait after a change for further ones, which the same run reports',
});
const runSeconds = z.int().min(1).max(86_400);
const runMeaning = 'Seconds after which a run counts as failed; a command is then killed';
const hookKind = 'Type of hook: a local command or a signed HTTP request';
export const afterSync = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('command').meta({ description: hookKind }),
      name: hookName,
      command: z.array(z.string()).min(1).meta({
        description:
          'Program and arguments, run without a shell; it reads what changed as JSON on stdin, and exit code 0 means success',
      }),
      sources: hookSources,
      delaySeconds,
      timeoutSeconds: runSeconds.default(900).meta({ description: runMeaning }),
    }),
    z.strictObject({
      kind: z.literal('http').meta({ description: hookKind }),
      name: hookName,
      url: webAddress.meta({ description: 'Address that receives what changed as an HTTP POST' }),
      secret: secretReference.meta({ ...secretMark, description: 'Key that signs each request' }),
      sources: hookSources,
      delaySeconds,
      timeoutSeconds: runSeconds.default(30).meta({ description: runMeaning }),
    }),
  ])
  .meta({
    description:
      'One hook that the daemon runs after a sync that changed rows, to schedule what comes after, such as dbt. One run at a time; it gets sources, counts and change numbers, and no identity',
  });
