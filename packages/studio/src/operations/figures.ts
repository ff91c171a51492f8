import { secondsText } from '../state/sentences.js'
import { create, element, setList } from '../views/page.js'
import type { OperationsFigures } from './prometheus.js'

/** What the service does now, and what it has counted since its start. */
export const renderFigures = (figures: OperationsFigures): void => {
  setList(element('operations-figures'), [
    ['Accepts sessions', figures.isReady ? 'yes' : 'no'],
    ['Open sessions', String(figures.open)],
    ['Load', `${figures.loadPercent.toFixed(1)} %`],
    ['Sessions started', String(figures.started)],
    ['Audio received', `${(figures.audioSeconds / 60).toFixed(1)} min`],
    ['Speech to milestone', figures.milestoneMs === undefined ? '–' : secondsText(figures.milestoneMs)],
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
