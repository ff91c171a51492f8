/** The values of one series, in the order of the samples; null where there is none. */
type Values = readonly (number | null)[]

/** The series of a chart by what they are grouped by, and by name. */
type Groups = Readonly<Record<string, Readonly<Record<string, Values>>>>

export interface SlowSession {
  readonly sessionId: string
  readonly tenant?: string
  readonly model?: string
  readonly traceId?: string
  readonly startedAtMs: number
  readonly isRunning: boolean
  readonly lastLagMs: number
  readonly worstLagMs: number
  readonly worstAtMs: number
  readonly queuedMs: number
}

/** What `/operations.json` of the service answers: its last hour. */
export interface OperationsReport {
  readonly everyMs: number
  readonly atMs: readonly number[]
  readonly charts: Readonly<Record<ChartName, Groups>>
  readonly sessions: readonly SlowSession[]
}

export const groupings = ['all', 'model', 'tenant'] as const
/** What the series of the charts are. */
export type Grouping = (typeof groupings)[number]

export const chartNames = ['running', 'lag', 'audio', 'refusals'] as const
export type ChartName = (typeof chartNames)[number]

const hourMs = 3_600_000

/**
 * The newer report, with the samples of the older one that it lacks: those before a restart of the service. What each
 * has not is null.
 */
export const joinReports = (older: OperationsReport | undefined, newer: OperationsReport): OperationsReport => {
  const [first = Infinity] = newer.atMs
  const end = newer.atMs.at(-1) ?? older?.atMs.at(-1) ?? 0
  const kept = (older?.atMs ?? []).flatMap((ms, at) => (ms < first && ms > end - hourMs ? [at] : []))
  if (older === undefined || kept.length === 0) return newer
  const joined = chartNames.map((chart) => [chart, joinGroups(older.charts[chart], newer.charts[chart], kept, newer)])
  return {
    ...newer,
    atMs: [...kept.map((at) => older.atMs[at] ?? 0), ...newer.atMs],
    charts: Object.fromEntries(joined) as OperationsReport['charts'],
  }
}

const joinGroups = (older: Groups, newer: Groups, kept: readonly number[], { atMs }: OperationsReport): Groups => {
  const groups: Record<string, Record<string, Values>> = {}
  for (const group of new Set([...Object.keys(older), ...Object.keys(newer)])) {
    const names = new Set([...Object.keys(older[group] ?? {}), ...Object.keys(newer[group] ?? {})])
    const series = (groups[group] = {} as Record<string, Values>)
    for (const name of names) {
      const before = older[group]?.[name]
      const after = newer[group]?.[name] ?? atMs.map(() => null)
      series[name] = [...kept.map((at) => before?.[at] ?? null), ...after]
    }
  }
  return groups
}

/** What one chart shows. */
export interface ChartData {
  /** In seconds, as charts have them. */
  readonly atS: readonly number[]
  readonly series: readonly {
    readonly name: string
    readonly values: Values
    /** From 0: a model or a tenant has the same in all charts. */
    readonly color: number
  }[]
}

/**
 * The series of a chart; those with the most sessions first, so that all charts have one order. Refusals are always by
 * code. A pause between two samples has a place without values, so that no line crosses it.
 */
export const chartData = (report: OperationsReport, chart: ChartName, by: Grouping): ChartData => {
  const groups = report.charts[chart]
  const found = Object.entries((chart === 'refusals' ? groups['code'] : groups[by]) ?? groups['all'] ?? {})
  const running = chart === 'refusals' || by === 'all' ? [] : Object.entries(report.charts.running[by] ?? {})
  const order = running.sort(([, a], [, b]) => peakOf(b) - peakOf(a)).map(([name]) => name)
  const others = found.map(([name]) => name).filter((name) => !order.includes(name))
  const colorOf = (name: string): number => [...order, ...others].indexOf(name)
  const series = found
    .map(([name, values]) => ({ name: nameOf(name), values, color: colorOf(name) }))
    .sort((a, b) => a.color - b.color)
  const breaks = report.atMs.flatMap((ms, at) => (ms - (report.atMs[at - 1] ?? ms) > 2.5 * report.everyMs ? [at] : []))
  const within = <A>(items: readonly A[], between: (at: number) => A): readonly A[] =>
    items.flatMap((item, at) => (breaks.includes(at) ? [between(at), item] : [item]))
  return {
    atS: within(report.atMs, (at) => (report.atMs[at] ?? 0) - report.everyMs).map((ms) => ms / 1000),
    series: series.map((each) => ({ ...each, values: within(each.values, () => null) })),
  }
}

const nameOf = (name: string): string => (name === '' ? 'none' : name)

const peakOf = (values: Values): number => values.reduce<number>((peak, value) => Math.max(peak, value ?? 0), 0)

/** A value as it is shown, such as `12`, `0.25` or `–`. */
export const figureOf = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : String(Number(value.toFixed(value < 10 ? 2 : 1)))

/** A duration as it is shown, such as `480 ms`, `2.4 s` or `12 min`. */
export const durationOf = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  return ms < hourMs ? `${Math.floor(ms / 60_000)} min` : `${(ms / hourMs).toFixed(1)} h`
}
