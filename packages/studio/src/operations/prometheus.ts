/** The samples of one metric. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Reads the text format of Prometheus. Lines that are not samples are ignored. */
export const parseMetrics = (text: string): ReadonlyMap<string, readonly Sample[]> => {
  const metrics = new Map<string, Sample[]>()
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? []
    if (name === undefined) continue
    const samples = metrics.get(name) ?? []
    metrics.set(name, samples)
    samples.push({ labels: labelsOf(labels), value: Number(value) })
  }
  return metrics
}

const labelsOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character)),
    ]),
  )

/** What operators see. */
export interface OperationsFigures {
  readonly isReady: boolean
  /** Open sessions by interface and state; those without any are left out. */
  readonly sessions: readonly { readonly name: string; readonly count: number }[]
  readonly open: number
  readonly loadPercent: number
  readonly started: number
  readonly ended: readonly { readonly name: string; readonly count: number }[]
  readonly refusals: readonly { readonly name: string; readonly count: number }[]
  readonly audioSeconds: number
  readonly milestoneMs: number | undefined
}

export const operationsFigures = (text: string): OperationsFigures => {
  const metrics = parseMetrics(text)
  const samples = (name: string): readonly Sample[] => metrics.get(`rxspeech_${name}`) ?? []
  const sum = (name: string): number => samples(name).reduce((total, { value }) => total + value, 0)
  const by = (name: string, ...labels: readonly string[]) => {
    const counts = new Map<string, number>()
    for (const sample of samples(name)) {
      const key = labels.map((label) => sample.labels[label] ?? '').join(', ')
      counts.set(key, (counts.get(key) ?? 0) + sample.value)
    }
    return [...counts]
      .flatMap(([key, count]) => (count > 0 ? [{ name: key, count }] : []))
      .sort((a, b) => b.count - a.count)
  }
  const milestones = sum('milestone_seconds_count')
  return {
    isReady: sum('ready') > 0,
    sessions: by('sessions', 'interface', 'state'),
    open: sum('sessions'),
    loadPercent: sum('load') * 100,
    started: sum('sessions_started_total'),
    ended: by('sessions_ended_total', 'outcome'),
    refusals: by('refusals_total', 'code'),
    audioSeconds: sum('audio_seconds_total'),
    milestoneMs: milestones === 0 ? undefined : (sum('milestone_seconds_sum') / milestones) * 1000,
  }
}
