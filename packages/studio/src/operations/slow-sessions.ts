import { copyText } from '../library/copy.js'
import { create, element, setText } from '../views/page.js'
import { durationOf, type SlowSession } from './report.js'

const columns = ['Model', 'Tenant', 'Age', 'Last result', 'Worst result', 'Audio waiting', 'Session', 'Trace'] as const

/** The slow sessions: what finds them, and how late they are. Rows of the same sessions keep their buttons, and so the focus. */
export const renderSlowSessions = (sessions: readonly SlowSession[], nowMs: number): void => {
  const body = element('slow-sessions')
  const head = create('tr', {}, ...columns.map((text) => header(text, 'col')))
  const ids = sessions.map(({ sessionId }) => sessionId).join(' ')
  if (body.dataset['ids'] !== ids || body.children.length === 0) {
    body.dataset['ids'] = ids
    const rows = sessions.map(({ sessionId, traceId, model = '–', tenant = '–' }) => {
      const figures = ['age', 'last', 'worst', 'queued'].map(() => create('td'))
      const ways = [copied('session id', sessionId), traceId === undefined ? undefined : copied('trace id', traceId)]
      const cells = ways.map((way) => create('td', way === undefined ? { text: '–' } : {}, ...(way ? [way] : [])))
      return create('tr', {}, header(model, 'row'), create('td', { text: tenant }), ...figures, ...cells)
    })
    const none = create('td', { text: 'No session had a result in this hour.' })
    none.colSpan = columns.length
    const caption = create('caption', { text: 'Slow sessions, now and in the last hour' })
    const shown = rows.length === 0 ? [create('tr', {}, none)] : rows
    body.replaceChildren(create('table', {}, caption, create('thead', {}, head), create('tbody', {}, ...shown)))
  }
  for (const [at, row] of [...body.querySelectorAll('tbody tr')].entries()) {
    const session = sessions[at]
    if (session === undefined) continue
    const texts = figuresOf(session, nowMs)
    for (const [index, text] of texts.entries()) {
      const cell = row.children[index + 2]
      if (cell instanceof HTMLElement) setText(cell, text)
    }
  }
}

const figuresOf = (session: SlowSession, nowMs: number): readonly string[] => {
  const { isRunning, startedAtMs, lastLagMs, worstLagMs, worstAtMs, queuedMs } = session
  return [
    isRunning ? durationOf(Math.max(0, nowMs - startedAtMs)) : 'ended',
    worstLagMs === 0 ? '–' : durationOf(lastLagMs),
    worstLagMs === 0 ? '–' : `${durationOf(worstLagMs)} at ${new Date(worstAtMs).toLocaleTimeString('en-GB')}`,
    isRunning ? durationOf(queuedMs) : '–',
  ]
}

const header = (text: string, scope: 'row' | 'col'): HTMLElement => {
  const created = create('th', { text })
  created.scope = scope
  return created
}

/** A button that copies an id; where the clipboard is refused, the id can be selected. */
const copied = (what: string, id: string): HTMLElement => {
  const button = create('button', { className: 'plain copy', text: `${id.slice(0, 8)}…` })
  button.type = 'button'
  button.title = id
  button.setAttribute('aria-label', `Copy the ${what} ${id}`)
  button.addEventListener('click', () => {
    copyText(id).then(
      () => setText(button, 'Copied'),
      () => setText(button, id),
    )
  })
  button.addEventListener('blur', () => setText(button, `${id.slice(0, 8)}…`))
  return button
}
