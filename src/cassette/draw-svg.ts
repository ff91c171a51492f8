import type { Bar, Flow, Marble, MarbleChart, MarbleLane } from './marble-chart.js'
import { svgStyle } from './svg-style.js'
import { momentText, ticksOf } from './time-axis.js'

export interface DrawSvgOptions {
  /** Pixels, 480 to 10,000. Default 1200. */
  readonly width?: number
}

const margin = 24
const headWidth = 104
const laneHeight = 38
const top = 84
const rowHeight = 21
/** So many rows are listed; a longer session is drawn whole, but not told whole. */
const mostRows = 60

/** A chart as one SVG file: its style is in it, nothing is loaded, and every text of the session is escaped. */
export const drawSvg = (chart: MarbleChart, { width = 1200 }: DrawSvgOptions = {}): string => {
  const wide = Math.min(10_000, Math.max(480, Math.floor(width)))
  const area: Area = { leftPx: margin + headWidth, rightPx: wide - margin, durationMs: Math.max(1, chart.durationMs) }
  const rows = rowsOf(chart)
  const bottom = top + chart.lanes.length * laneHeight
  const shown = rows.slice(0, mostRows)
  const listHeight = rows.length === 0 ? 0 : 26 + (shown.length + (rows.length > mostRows ? 1 : 0)) * rowHeight
  const height = bottom + listHeight + margin
  const numbers = new Map(shown.map(({ marble }, index) => [marble, index + 1]))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${height}" viewBox="0 0 ${wide} ${height}" role="img" aria-label="${escaped(chart.title)}">`,
    `<style>${svgStyle}</style>`,
    `<rect class="ground" x="0.5" y="0.5" width="${wide - 1}" height="${height - 1}" rx="12"/>`,
    `<text class="title" x="${margin}" y="36">${escaped(chart.title)}</text>`,
    signs(wide),
    axis(area, bottom),
    ...chart.lanes.map((lane, index) => drawLane(lane, top + index * laneHeight + laneHeight / 2, area, numbers)),
    list(shown, rows.length, bottom + 26, wide),
    '</svg>',
    '',
  ].join('\n')
}

interface Area {
  readonly leftPx: number
  readonly rightPx: number
  readonly durationMs: number
}

const xOf = (atMs: number, { leftPx, rightPx, durationMs }: Area): number =>
  px(leftPx + (Math.min(atMs, durationMs) / durationMs) * (rightPx - leftPx))

/** A tenth of a pixel is enough. */
const px = (value: number): number => Math.round(value * 10) / 10

const escaped = (text: string): string =>
  text
    // XML 1.0 section 2.2 has no place for these, escaped or not.
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const axis = (area: Area, bottom: number): string => {
  const leastMs = (area.durationMs / (area.rightPx - area.leftPx)) * 72
  return ticksOf(area.durationMs, leastMs)
    .map(({ atMs, label }) => {
      const x = xOf(atMs, area)
      return `<line class="grid" x1="${x}" y1="${top - 8}" x2="${x}" y2="${bottom}"/><text class="tick" x="${x}" y="${top - 16}">${label}</text>`
    })
    .join('\n')
}

const drawLane = (lane: MarbleLane, y: number, area: Area, numbers: ReadonlyMap<Marble, number>): string => {
  const { kind, name, bars, marbles, flow } = lane
  const rail = `<line class="rail" x1="${area.leftPx}" y1="${y}" x2="${area.rightPx}" y2="${y}"/>`
  const parts = [
    `<g class="${kind}">`,
    `<text class="name" x="${area.leftPx - 14}" y="${y + 4}">${escaped(name)}</text>`,
    kind === 'audio' || kind === 'speech' ? '' : rail,
    drawFlow(flow, y, area),
    ...bars.map((bar) => drawBar(bar, y, area)),
    ...placed(marbles, area, numbers).map(({ marble, x }) => drawMarble(marble, x, y, numbers.get(marble))),
    '</g>',
  ]
  return parts.filter((part) => part !== '').join('\n')
}

const drawBar = ({ fromMs, toMs, label, isFaint }: Bar, y: number, area: Area): string => {
  const x = xOf(fromMs, area)
  const width = Math.max(2, px(xOf(toMs, area) - x))
  return `<rect class="bar${isFaint === true ? ' faint' : ''}" x="${x}" y="${y - 5}" width="${width}" height="10"><title>${escaped(label)}</title></rect>`
}

interface Placed {
  readonly marble: Marble
  readonly x: number
}

const numberedPx = 19
/** A marble may stand so far from its time, so that its number can be read beside another one. */
const mostAsidePx = 2 * numberedPx

const placed = (marbles: readonly Marble[], area: Area, numbers: ReadonlyMap<Marble, number>): readonly Placed[] => {
  let freeFrom = -Infinity
  return marbles.map((marble) => {
    const at = xOf(marble.atMs, area)
    if (!numbers.has(marble)) return { marble, x: at }
    const x = px(Math.min(Math.max(at, freeFrom), at + mostAsidePx))
    freeFrom = x + numberedPx
    return { marble, x }
  })
}

/** What the two kinds of marbles mean. */
const signs = (width: number): string =>
  [
    ['said by the client', 'client', 282],
    ['said by the service', '', 142],
  ]
    .map(([text, kind, fromRight]) => {
      const x = width - margin - Number(fromRight)
      return `<g class="connection"><circle class="marble ${kind}" cx="${x}" cy="31.5" r="6"/><text class="soft" x="${x + 13}" y="36">${text}</text></g>`
    })
    .join('')

const drawMarble = (marble: Marble, x: number, y: number, number: number | undefined): string => {
  const { atMs, label, from, isFault } = marble
  const classes = [
    'marble',
    number === undefined ? 'small' : '',
    from === 'client' ? 'client' : '',
    isFault === true ? 'fault' : '',
  ]
  const circle = `<circle class="${classes.filter((one) => one !== '').join(' ')}" cx="${x}" cy="${y}" r="${number === undefined ? 5 : 9}"><title>${escaped(`${momentText(atMs)} ${label}`)}</title></circle>`
  return number === undefined ? circle : `${circle}<text class="number" x="${x}" y="${y + 3.5}">${number}</text>`
}

/** Slices of some pixels, as high as the audio in them is against that of the fullest. */
const drawFlow = (flow: readonly Flow[], y: number, area: Area): string => {
  if (flow.length === 0) return ''
  const slicePx = 4
  const slices = new Map<number, number>()
  for (const { atMs, audioMs } of flow) {
    const slice = Math.floor((xOf(atMs, area) - area.leftPx) / slicePx)
    slices.set(slice, (slices.get(slice) ?? 0) + audioMs)
  }
  const most = [...slices.values()].reduce((one, other) => Math.max(one, other), 0)
  const path = [...slices]
    .map(([slice, audioMs]) => {
      const half = px(Math.max(1, (audioMs / most) * 13))
      return `M${area.leftPx + slice * slicePx} ${y - half}h${slicePx - 1}v${px(2 * half)}h-${slicePx - 1}z`
    })
    .join('')
  return `<path class="flow" d="${path}"/>`
}

interface Row {
  readonly lane: MarbleLane
  readonly marble: Marble
}

/** What is read one by one, in the order of time. */
const rowsOf = ({ lanes }: MarbleChart): readonly Row[] =>
  lanes
    .filter(({ kind }) => kind !== 'partials')
    .flatMap((lane) => lane.marbles.map((marble) => ({ lane, marble })))
    .sort((one, other) => one.marble.atMs - other.marble.atMs)

const list = (rows: readonly Row[], count: number, y: number, width: number): string => {
  const lines = rows.map(({ lane, marble }, index) => {
    const base = y + index * rowHeight + 14
    const x = margin + 9
    const client = marble.from === 'client' ? ' client' : ''
    const fault = marble.isFault === true ? ' fault' : ''
    return [
      `<g class="${lane.kind}"><circle class="marble${client}${fault}" cx="${x}" cy="${base - 4}" r="9"/><text class="number" x="${x}" y="${base - 0.5}">${index + 1}</text>`,
      `<text class="time" x="${x + 74}" y="${base}">${momentText(marble.atMs)}</text>`,
      `<text class="soft" x="${x + 88}" y="${base}">${escaped(lane.name)}</text>`,
      `<text x="${x + 182}" y="${base}">${escaped(shortened(marble.label, (width - margin - x - 182) / 6.4))}</text></g>`,
    ].join('')
  })
  const more = `<text class="soft" x="${margin}" y="${y + rows.length * rowHeight + 14}">… ${count - rows.length} more</text>`
  return [...lines, ...(count > rows.length ? [more] : [])].join('\n')
}

const shortened = (text: string, most: number): string => {
  const characters = Array.from(text.trim())
  return characters.length <= most ? characters.join('') : `${characters.slice(0, Math.floor(most) - 1).join('')}…`
}
