import { catchError, defer, of, switchMap, takeWhile, timer, map, type Observable } from 'rxjs'
import { create, element, setList, setText } from './page.js'
import { operationsFigures, type OperationsFigures } from './prometheus.js'

const everyMs = 2000

/** The figures of the service while the page shows them. */
export const watchOperations = (
  url: string | null | undefined,
  isShown: () => boolean,
): Observable<OperationsFigures | string> =>
  typeof url !== 'string'
    ? of(
        'This page may not read the metrics of the service. Start it with "serve --dev", or open /metrics at its operations address.',
      )
    : timer(0, everyMs).pipe(
        takeWhile(isShown),
        switchMap(() =>
          defer(async () => {
            const response = await fetch(url, { cache: 'no-store' })
            if (!response.ok) throw new Error(`it answered ${response.status}`)
            return response.text()
          }).pipe(
            map(operationsFigures),
            catchError((error: unknown) =>
              of(
                `The metrics cannot be read (${error instanceof Error ? error.message : 'no answer'}). Check that the service runs.`,
              ),
            ),
          ),
        ),
      )

export const renderOperations = (figures: OperationsFigures | string): void => {
  const error = element('operations-error')
  error.hidden = typeof figures !== 'string'
  if (typeof figures === 'string') return setText(error, figures)
  setList(element('operations-figures'), [
    ['Accepts sessions', figures.isReady ? 'yes' : 'no'],
    ['Open sessions', String(figures.open)],
    ['Load', `${figures.loadPercent.toFixed(1)} %`],
    ['Sessions started', String(figures.started)],
    ['Audio received', `${(figures.audioSeconds / 60).toFixed(1)} min`],
    ['Speech to milestone', figures.milestoneMs === undefined ? '–' : `${Math.round(figures.milestoneMs)} ms`],
  ])
  element('operations-tables').replaceChildren(
    table('Open sessions', figures.sessions, 'No session is open.'),
    table('Ended sessions', figures.ended, 'No session has ended.'),
    table('Refusals', figures.refusals, 'Nothing was refused.'),
  )
}

const table = (title: string, rows: OperationsFigures['sessions'], none: string): HTMLElement => {
  const shown = rows.length === 0 ? [{ name: none, count: undefined }] : rows
  const body = create('tbody')
  for (const { name, count } of shown) {
    const header = create('th', { text: name })
    header.scope = 'row'
    body.append(create('tr', {}, header, create('td', { text: count === undefined ? '' : String(count) })))
  }
  return create('table', {}, create('caption', { text: title }), body)
}
