import type { AudioAmount, Bar, Chart, ChartRow, Marble } from './chart.js'
import { formatTime, ticksOf } from './time-axis.js'

const margin = 24
const nameWidth = 104

/** The width of a drawing in pixels. */
export const svgWidthPx = { min: 480, max: 10_000 } as const
const rowHeight = 38
const top = 84
const entryHeight = 21
/** The list ends here; the drawing contains everything. */
const maxEntries = 60

/**
 * Draws a chart as one SVG file with its own style. It loads nothing, and every text of the session is escaped.
 *
 * @param widthPx of `svgWidthPx`
 */
export const drawSvg = (chart: Chart, widthPx = 1200): string => {
  const area: Area = {
    leftPx: margin + nameWidth,
    rightPx: widthPx - margin,
    durationMs: Math.max(1, chart.durationMs),
  }
  const all = entriesOf(chart)
  const entries = all.slice(0, maxEntries)
  const bottom = top + chart.rows.length * rowHeight
  const lineCount = entries.length + (all.length > maxEntries ? 1 : 0)
  const height = bottom + (lineCount === 0 ? 0 : 26 + lineCount * entryHeight) + margin
  const numbers = new Map(entries.map(({ marble }, index) => [marble, index + 1]))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${widthPx}" height="${height}" viewBox="0 0 ${widthPx} ${height}" role="img" aria-label="${escapeXml(chart.title)}">`,
    `<style>${style}</style>`,
    `<rect class="ground" x="0.5" y="0.5" width="${widthPx - 1}" height="${height - 1}" rx="12"/>`,
    `<text class="title" x="${margin}" y="36">${escapeXml(chart.title)}</text>`,
    drawLegend(widthPx),
    drawAxis(area, bottom),
    ...chart.rows.map((row, index) => drawRow(row, top + index * rowHeight + rowHeight / 2, area, numbers)),
    drawList(entries, all.length, bottom + 26, widthPx),
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

/** Rounds to a tenth of a pixel. */
const px = (value: number): number => Math.round(value * 10) / 10

const escapeXml = (text: string): string =>
  text
    // XML 1.0 section 2.2 does not allow these characters, even escaped.
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const drawAxis = (area: Area, bottom: number): string => {
  const minTickMs = (area.durationMs / (area.rightPx - area.leftPx)) * 72
  return ticksOf(area.durationMs, minTickMs)
    .map(({ atMs, label }) => {
      const x = xOf(atMs, area)
      return `<line class="grid" x1="${x}" y1="${top - 8}" x2="${x}" y2="${bottom}"/><text class="tick" x="${x}" y="${top - 16}">${label}</text>`
    })
    .join('\n')
}

const drawRow = (row: ChartRow, y: number, area: Area, numbers: ReadonlyMap<Marble, number>): string => {
  const { kind, name, bars, marbles, audio } = row
  const rail = `<line class="rail" x1="${area.leftPx}" y1="${y}" x2="${area.rightPx}" y2="${y}"/>`
  const parts = [
    `<g class="${kind}">`,
    `<text class="name" x="${area.leftPx - 14}" y="${y + 4}">${escapeXml(name)}</text>`,
    kind === 'audio' || kind === 'speech' ? '' : rail,
    drawAudio(audio, y, area),
    ...bars.map((bar) => drawBar(bar, y, area)),
    ...placeMarbles(marbles, area, numbers).map(({ marble, x }) => drawMarble(marble, x, y, numbers.get(marble))),
    '</g>',
  ]
  return parts.filter((part) => part !== '').join('\n')
}

const drawBar = ({ fromMs, toMs, label, isFaint }: Bar, y: number, area: Area): string => {
  const x = xOf(fromMs, area)
  const width = Math.max(2, px(xOf(toMs, area) - x))
  return `<rect class="bar${isFaint === true ? ' faint' : ''}" x="${x}" y="${y - 5}" width="${width}" height="10"><title>${escapeXml(label)}</title></rect>`
}

const numberedWidth = 19
/** How far a marble may be moved from its time, so that its number does not overlap another one. */
const maxShift = 2 * numberedWidth

const placeMarbles = (
  marbles: readonly Marble[],
  area: Area,
  numbers: ReadonlyMap<Marble, number>,
): readonly { readonly marble: Marble; readonly x: number }[] => {
  let freeFrom = -Infinity
  return marbles.map((marble) => {
    const timeX = xOf(marble.atMs, area)
    if (!numbers.has(marble)) return { marble, x: timeX }
    const x = px(Math.min(Math.max(timeX, freeFrom), timeX + maxShift))
    freeFrom = x + numberedWidth
    return { marble, x }
  })
}

const drawLegend = (width: number): string =>
  [
    ['sent by the client', 'client', 282],
    ['sent by the service', '', 142],
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
  const circle = `<circle class="${classes.filter((name) => name !== '').join(' ')}" cx="${x}" cy="${y}" r="${number === undefined ? 5 : 9}"><title>${escapeXml(`${formatTime(atMs)} ${label}`)}</title></circle>`
  return number === undefined ? circle : `${circle}<text class="number" x="${x}" y="${y + 3.5}">${number}</text>`
}

/** Slices of a few pixels; the one with the most audio has the full height. */
const drawAudio = (audio: readonly AudioAmount[], y: number, area: Area): string => {
  if (audio.length === 0) return ''
  const slicePx = 4
  const slices = new Map<number, number>()
  for (const { atMs, audioMs } of audio) {
    const slice = Math.floor((xOf(atMs, area) - area.leftPx) / slicePx)
    slices.set(slice, (slices.get(slice) ?? 0) + audioMs)
  }
  const max = [...slices.values()].reduce((a, b) => Math.max(a, b), 0)
  const path = [...slices]
    .map(([slice, audioMs]) => {
      const half = px(Math.max(1, (audioMs / max) * 13))
      return `M${area.leftPx + slice * slicePx} ${y - half}h${slicePx - 1}v${px(2 * half)}h-${slicePx - 1}z`
    })
    .join('')
  return `<path class="flow" d="${path}"/>`
}

interface Entry {
  readonly row: ChartRow
  readonly marble: Marble
}

/** The marbles of the list, ordered by time: all except partials. */
const entriesOf = ({ rows }: Chart): readonly Entry[] =>
  rows
    .filter(({ kind }) => kind !== 'partials')
    .flatMap((row) => row.marbles.map((marble) => ({ row, marble })))
    .sort((a, b) => a.marble.atMs - b.marble.atMs)

const drawList = (entries: readonly Entry[], count: number, y: number, width: number): string => {
  const lines = entries.map(({ row, marble }, index) => {
    const base = y + index * entryHeight + 14
    const x = margin + 9
    const client = marble.from === 'client' ? ' client' : ''
    const fault = marble.isFault === true ? ' fault' : ''
    return [
      `<g class="${row.kind}"><circle class="marble${client}${fault}" cx="${x}" cy="${base - 4}" r="9"/><text class="number" x="${x}" y="${base - 0.5}">${index + 1}</text>`,
      `<text class="time" x="${x + 74}" y="${base}">${formatTime(marble.atMs)}</text>`,
      `<text class="soft" x="${x + 88}" y="${base}">${escapeXml(row.name)}</text>`,
      `<text x="${x + 182}" y="${base}">${escapeXml(truncate(marble.label, (width - margin - x - 182) / 6.4))}</text></g>`,
    ].join('')
  })
  const more = `<text class="soft" x="${margin}" y="${y + entries.length * entryHeight + 14}">… ${count - entries.length} more</text>`
  return [...lines, ...(count > entries.length ? [more] : [])].join('\n')
}

const truncate = (text: string, maxLength: number): string => {
  const characters = Array.from(text.trim())
  return characters.length <= maxLength
    ? characters.join('')
    : `${characters.slice(0, Math.floor(maxLength) - 1).join('')}…`
}

/**
 * Light, or dark if the viewer prefers that. The drawing has its own background, so it fits on a page of any color. The
 * contrast of text is at least 4.5 to 1 (WCAG 2.2, 1.4.3) in both.
 */
const style = `
:root { color-scheme: light dark }
svg { --ground: #ffffff; --edge: #d8dee6; --grid: #eef1f5; --ink: #1c2530; --soft: #5b6776; --rail: #cfd6df;
  --connection: #5b6776; --control: #7a4fd0; --audio: #7d93ad; --speech: #0f8f86; --partials: #d9a514; --milestones: #2167d8;
  --finals: #23863a; --events: #b0529a; --fault: #cf2f3a }
@media (prefers-color-scheme: dark) {
  svg { --ground: #12171e; --edge: #2c3540; --grid: #1c242d; --ink: #e8edf3; --soft: #9dabba; --rail: #37424f;
    --connection: #9dabba; --control: #b59aff; --audio: #6f8aa8; --speech: #3ec7bb; --partials: #f0c347; --milestones: #6aa5ff;
    --finals: #5fcf78; --events: #e58fd0; --fault: #ff7a82 }
}
text { font: 12px ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink) }
.title { font-size: 15px; font-weight: 600 }
.soft, .tick { fill: var(--soft) }
.tick { font-size: 11px; text-anchor: middle }
.name { font-size: 12px; font-weight: 600; text-anchor: end }
.ground { fill: var(--ground); stroke: var(--edge) }
.grid { stroke: var(--grid) }
.rail { stroke: var(--rail) }
.text { paint-order: stroke; stroke: var(--ground); stroke-width: 4px; stroke-linejoin: round }
.number { font-size: 10px; font-weight: 700; text-anchor: middle; fill: var(--ground) }
.time { font-size: 11px; text-anchor: end; fill: var(--soft); font-variant-numeric: tabular-nums }
.bar { rx: 4px; opacity: .85 }
.faint { opacity: .35 }
.marble { stroke: var(--ground); stroke-width: 1.5px }
.small { opacity: .8 }
.client { fill: var(--ground); stroke-width: 2px }
.connection { --own: var(--connection) } .control { --own: var(--control) } .audio { --own: var(--audio) }
.speech { --own: var(--speech) } .partials { --own: var(--partials) } .milestones { --own: var(--milestones) }
.finals { --own: var(--finals) } .events { --own: var(--events) } .fault { --own: var(--fault) }
.bar, .marble, .flow { fill: var(--own) }
.marble.client { fill: var(--ground); stroke: var(--own) }
.marble.client + .number { fill: var(--own) }
`.trim()
