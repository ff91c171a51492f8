import UPlot from 'uplot'
import { create, element, setText } from '../views/page.js'
import { chartData, chartNames, figureOf, type ChartName, type Grouping, type OperationsReport } from './report.js'

const titles: Readonly<Record<ChartName, readonly [title: string, unit: string]>> = {
  running: ['Sessions', 'running, mean of 10 s'],
  lag: ['End of speech to milestone', 'seconds, p50 and p95, or p95 of each'],
  audio: ['Audio', 'seconds per second'],
  refusals: ['Refusals', 'per minute, by code'],
}

/** As many colors as can be told apart; further series are in the table. */
const maxShown = 8
const heightPx = 168
const hourS = 3_600
const syncKey = 'operations'

/** The charts of the last hour: one cursor for all of them, which a pointer or the arrow keys move. */
export class Charts {
  readonly #figures = chartNames.map((name) => new ChartFigure(name, (key) => this.#moveBy(key)))
  readonly #announcer = create('p', { className: 'hidden' })
  readonly #resized = new ResizeObserver(() => {
    for (const figure of this.#figures) figure.fit()
  })
  readonly #themed = new MutationObserver(() => this.#redraw())
  readonly #scheme = matchMedia('(prefers-color-scheme: dark)')
  readonly #onScheme = (): void => this.#redraw()
  #atS: number | undefined

  constructor(target: HTMLElement) {
    this.#announcer.setAttribute('role', 'status')
    target.replaceChildren(...this.#figures.map(({ figure }) => figure), this.#announcer)
    this.#resized.observe(target)
    this.#themed.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    this.#scheme.addEventListener('change', this.#onScheme)
  }

  render(report: OperationsReport, by: Grouping): void {
    for (const figure of this.#figures) figure.render(report, by)
  }

  destroy(): void {
    this.#resized.disconnect()
    this.#themed.disconnect()
    this.#scheme.removeEventListener('change', this.#onScheme)
    for (const figure of this.#figures) figure.destroy()
  }

  #redraw(): void {
    for (const figure of this.#figures) figure.redraw()
  }

  #moveBy(key: string): boolean {
    const times = this.#figures[0]?.atS ?? []
    const from = this.#atS === undefined ? times.length : times.findIndex((at) => at >= (this.#atS ?? 0))
    const to: Readonly<Record<string, number>> = {
      ArrowLeft: from - 1,
      ArrowRight: from + 1,
      Home: 0,
      End: times.length - 1,
    }
    const index = to[key]
    if (index === undefined) return false
    const atS = times[Math.min(Math.max(index, 0), times.length - 1)]
    if (atS === undefined) return true
    this.#atS = atS
    const values = this.#figures.map((figure) => figure.moveTo(atS))
    setText(this.#announcer, `${timeOf(atS)}. ${values.join(' ')}`)
    return true
  }
}

class ChartFigure {
  readonly figure = create('figure')
  readonly #name: ChartName
  readonly #body = create('div', { className: 'plot' })
  readonly #note = create('p', { className: 'note' })
  #plot: UPlot | undefined
  #names: readonly string[] = []
  #colors: readonly number[] = []
  #data: UPlot.AlignedData = [[]]

  constructor(name: ChartName, onKey: (key: string) => boolean) {
    const [title, unit] = titles[name]
    this.#name = name
    const heading = create('h3', { text: `${title} ` }, create('span', { text: unit }))
    this.figure.append(create('figcaption', {}, heading), this.#body, this.#note)
    this.#body.tabIndex = 0
    this.#body.setAttribute('role', 'group')
    this.#body.setAttribute('aria-label', `${title}, ${unit}. The arrow keys move through the samples.`)
    this.#body.addEventListener('keydown', (event) => {
      if (onKey(event.key)) event.preventDefault()
      event.stopPropagation()
    })
  }

  get atS(): readonly number[] {
    return this.#data[0] as readonly number[]
  }

  render(report: OperationsReport, by: Grouping): void {
    const { atS, series } = chartData(report, this.#name, by)
    const shown = series.slice(0, maxShown)
    const names = shown.map(({ name }) => name)
    const colors = shown.map(({ color }) => color % maxShown)
    this.#data = [[...atS], ...shown.map(({ values }) => [...values])]
    setText(this.#note, noteOf(atS.length, names.length, series.length))
    if (this.#plot !== undefined && isSame(names, this.#names) && isSame(colors, this.#colors))
      this.#plot.setData(this.#data)
    else {
      this.#names = names
      this.#colors = colors
      this.redraw()
    }
  }

  /** Also when the colors of the page have changed. */
  redraw(): void {
    this.destroy()
    this.#plot = new UPlot(this.#options(), this.#data, this.#body)
  }

  fit(): void {
    this.#plot?.setSize({ width: this.#width, height: heightPx })
  }

  /** Moves the cursor to a sample. Returns a sentence with its values. */
  moveTo(atS: number): string {
    const plot = this.#plot
    plot?.setCursor({ left: plot.valToPos(atS, 'x'), top: heightPx / 2 })
    const index = this.atS.indexOf(atS)
    const values = this.#names.map((name, at) => `${name} ${figureOf(this.#data[at + 1]?.[index])}`)
    return `${titles[this.#name][0]}: ${values.join(', ') || 'none'}.`
  }

  destroy(): void {
    this.#plot?.destroy()
    this.#plot = undefined
  }

  get #width(): number {
    return Math.max(this.#body.clientWidth, 200)
  }

  #options(): UPlot.Options {
    const colorOf = colorsOf(this.#body)
    const axis: UPlot.Axis = {
      stroke: colorOf('--muted'),
      grid: { stroke: colorOf('--line'), width: 1 },
      ticks: { stroke: colorOf('--line'), width: 1, size: 4 },
      font: '12px system-ui, sans-serif',
    }
    return {
      width: this.#width,
      height: heightPx,
      cursor: { sync: { key: syncKey }, drag: { x: false, y: false }, y: false, points: { size: 6 } },
      legend: { live: true },
      scales: {
        x: { time: true, range: (_plot, _min, max) => [max - hourS, max] },
        y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
      },
      axes: [
        { ...axis, space: 64, size: 28, values: (_plot, splits) => splits.map((at) => timeOf(at).slice(0, 5)) },
        { ...axis, size: 44, space: 32, values: (_plot, splits) => splits.map((value) => figureOf(value)) },
      ],
      series: [
        { label: 'Time', value: (_plot, at: number | null) => (at === null ? '–' : timeOf(at)) },
        ...this.#names.map((label, at) => ({
          label,
          stroke: colorOf(`--series-${(this.#colors[at] ?? at) + 1}`),
          width: 1.5,
          points: { size: 4 },
          value: (_plot: UPlot, value: number | null) => figureOf(value),
        })),
      ],
      // Without a cursor the legend has the newest values.
      hooks: {
        setCursor: [(plot) => showNewest(plot)],
        setData: [(plot) => showNewest(plot)],
        ready: [(plot) => showNewest(plot)],
      },
    }
  }
}

const isSame = <A>(a: readonly A[], b: readonly A[]): boolean =>
  a.length === b.length && a.every((each, at) => each === b[at])

const showNewest = (plot: UPlot): void => {
  const last = plot.data[0].length - 1
  if (last >= 0 && typeof plot.cursor.idx !== 'number') plot.setLegend({ idx: last }, false)
}

const noteOf = (samples: number, shown: number, all: number): string => {
  if (samples === 0) return 'The first sample is taken 10 s after the start of the service.'
  if (all === 0) return 'None in this hour.'
  return shown < all ? `${all - shown} more are in the table.` : ''
}

/** Reads the colors of the page as a canvas needs them. */
const colorsOf = (within: HTMLElement): ((name: string) => string) => {
  return (name) => {
    const probe = create('span')
    probe.style.color = `var(${name})`
    within.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}

/** Such as `14:03:20`. */
const timeOf = (atS: number): string => new Date(atS * 1000).toLocaleTimeString('en-GB')

/** All samples of the charts, newest first, for those who read numbers. */
export const renderTables = (report: OperationsReport, by: Grouping): void => {
  const tables = chartNames.map((name) => {
    const { atS, series } = chartData(report, name, by)
    const head = create('tr', {}, ...['Time', ...series.map((each) => each.name)].map((text) => heading(text, 'col')))
    const rows = atS.map((at, index) => {
      const cells = series.map(({ values }) => create('td', { text: figureOf(values[index]) }))
      return create('tr', {}, heading(timeOf(at), 'row'), ...cells)
    })
    const [title, unit] = titles[name]
    const caption = create('caption', { text: `${title}, ${unit}` })
    return create('table', {}, caption, create('thead', {}, head), create('tbody', {}, ...rows.reverse()))
  })
  element('hour-tables').replaceChildren(...tables)
}

const heading = (text: string, scope: 'row' | 'col'): HTMLElement => {
  const created = create('th', { text })
  created.scope = scope
  return created
}
