import { type Request, type RequestHandler, type Response, Router } from 'express';
import { defined } from '../../domain/defined.js';
import { isFault } from '../../domain/fault.js';
import { printable } from '../../domain/printable.js';
import { visitOf } from '../guard/admit.js';
import { fieldOf } from '../guard/own-forms.js';
import { actionsBody, backPath, confirmationOf, confirmBody, type Flash, slugOf } from '../pages/actions.js';
import { auditBody } from '../pages/audit.js';
import { problemBody } from '../pages/problem.js';
import { type AuditLine, type OperatorAction, operatorActions, type Wish } from '../ports/operations.js';
import { ownForm, type PageContext } from './page-context.js';

const auditRows = 100;

/** The pages of operators: what they can do, and the audit log. */
export function actionRoutes(context: PageContext): Router {
  const { operations, clock } = context;
  const router = Router();

  const operatorOnly: RequestHandler = (request, response, next) => {
    if (context.may(response, 'act')) return next();
    context.refuse(request, response, 'This page is for operators.');
  };

  const lost: RequestHandler = (request, response) => {
    const body = problemBody(
      'Nothing to confirm',
      'The source, notice or alert of this address does not exist now.',
    );
    context.show(request, response, { title: 'Nothing to confirm', place: '/actions', body }, 404);
  };

  router.get('/actions', operatorOnly, async (request, response) => {
    const session = context.session(request, response);
    const flash = session.flash;
    session.flash = null;
    const body = actionsBody(await operations.seen(), flash, clock.now());
    context.show(request, response, { title: 'Actions', place: '/actions', body });
  });

  for (const action of operatorActions) {
    const path = `/actions/${slugOf(action)}`;
    router.get(path, operatorOnly, async (request, response, next) => {
      const { source, notice, alert, back } = request.query;
      const seen = await operations.seen();
      const wanted = confirmationOf(action, {
        source: typeof source === 'string' ? ((await operations.source(source)) ?? undefined) : undefined,
        notice: seen.notices.find((one) => String(one.notice) === notice),
        alert: seen.alerts.find((one) => String(one.alert) === alert),
      });
      if (wanted === null) return lost(request, response, next);
      const { csrf } = context.session(request, response);
      const body = confirmBody(action, wanted, csrf, back === 'source' ? 'source' : '');
      context.show(request, response, { title: wanted.title, place: '/actions', body });
    });
    router.post(path, ...ownForm, async (request, response) => {
      const { actor } = visitOf(response);
      const wish = {
        action,
        source: fieldOf(request, 'source'),
        notice: wholeNumber(fieldOf(request, 'notice')),
        alert: wholeNumber(fieldOf(request, 'alert')),
        rows: wholeNumber(fieldOf(request, 'rows')),
      };
      const answer = (flash: Flash) =>
        respond(response, flash, () => {
          context.session(request, response).flash = flash;
          response.redirect(303, backPath(fieldOf(request, 'back'), wish.source));
        });
      const subject = subjectOf(wish);
      const line = { actor, action, ...subject };
      if (!context.may(response, 'act')) {
        // Without what it names: it is the text of someone who may not act.
        await operations.audit({ actor, action, outcome: 'refused', note: 'not an operator' });
        return context.refuse(request, response, 'Only operators may do this.');
      }
      const unusable = unusableNumber(action, request);
      if (unusable !== null) {
        await operations.audit({ actor, action, outcome: 'refused', note: 'not a number' });
        return answer({ text: unusable, hint: 'The page Actions shows it.', wrong: true });
      }
      // First the log: what cannot be logged is not done.
      await operations.audit({ ...line, outcome: 'asked' });
      const flash = await operations.perform(wish, actor).then(
        (text): Flash => ({ text, wrong: false }),
        (error: unknown): Flash => {
          if (!isFault(error, 'usage')) throw error;
          return { text: `${sentence(error.message, wish.source)}.`, hint: error.about.hint, wrong: true };
        },
      );
      if (flash.wrong) await operations.audit({ ...line, outcome: 'refused', note: 'not possible now' });
      else if (isImmediate(action)) await operations.audit({ ...line, outcome: 'done' });
      answer(flash);
    });
  }

  router.get('/audit', operatorOnly, async (request, response) => {
    const { before } = request.query;
    const from = typeof before === 'string' && /^\d{1,15}$/.test(before) ? Number(before) : null;
    const lines = await operations.auditSeen(from, auditRows + 1);
    const shown = lines.slice(0, auditRows);
    const older = lines.length > auditRows ? (shown.at(-1)?.entry ?? null) : null;
    context.show(request, response, { title: 'Audit log', place: '/audit', body: auditBody(shown, older) });
  });
  return router;
}

/** Programs get the answer itself; browsers a page that shows it, so that reloading does not act again. */
function respond(response: Response, { text, hint, wrong }: Flash, toPage: () => void): void {
  if (!visitOf(response).program) {
    toPage();
    return;
  }
  response.status(wrong ? 422 : 200).json({ done: !wrong, message: text, ...defined({ hint }) });
}

/** The daemon that works on the source logs the outcome of the others. */
const isImmediate = (action: OperatorAction): boolean =>
  ['pause', 'resume', 'resend_notice', 'resend_alert'].includes(action);

/** The number that an action needs. */
const numberOf: Partial<Record<OperatorAction, 'notice' | 'alert' | 'rows'>> = {
  resend_notice: 'notice',
  resend_alert: 'alert',
  accept_deletions: 'rows',
};

/** Returns what is wrong with the number that the action needs, or null. */
function unusableNumber(action: OperatorAction, request: Request): string | null {
  const name = numberOf[action];
  if (name === undefined) return null;
  const given = fieldOf(request, name);
  if (wholeNumber(given) !== -1) return null;
  const what = `The field "${name}" must be a whole number`;
  return given === '' ? `${what}, and it is missing.` : `${what}, not "${printable(given.slice(0, 40))}".`;
}

/** Returns what the audit log names. */
function subjectOf({ action, source, notice, alert }: Wish): Pick<AuditLine, 'source' | 'subject'> {
  if (action === 'resend_notice') return { subject: String(notice) };
  if (action === 'resend_alert') return { subject: String(alert) };
  return { source: source.slice(0, 63) };
}

/** Returns -1 for anything else than a whole number, which no notice and no count is. */
const wholeNumber = (text: string): number => (/^\d{1,15}$/.test(text) ? Number(text) : -1);

/** Names of sources stay as they are. */
const sentence = (text: string, source: string): string =>
  source !== '' && text.startsWith(source) ? text : `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
