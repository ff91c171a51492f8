/** What the metrics of a service say about its thread and its engines. */
export interface EngineMetrics {
  /** The share of its thread that sessions use. */
  readonly load: number
  readonly loopDelayMs: number
  /** How long the threads of engines have worked; undefined if no engine counts it. */
  readonly engineBusyMs: number | undefined
}

const timeoutMs = 5_000

/** Reads metrics in the text format of Prometheus. Rejects if the service does not answer. */
export const readMetrics = async (url: string): Promise<EngineMetrics> => {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
  return engineMetrics(await response.text())
}

export const engineMetrics = (text: string): EngineMetrics => {
  const busyS = valuesOf(text, 'rxspeech_engine_busy_seconds_total')
  return {
    load: Math.max(0, ...valuesOf(text, 'rxspeech_load')),
    loopDelayMs: Math.max(0, ...valuesOf(text, 'rxspeech_loop_delay_seconds')) * 1000,
    engineBusyMs: busyS.length === 0 ? undefined : busyS.reduce((sum, value) => sum + value, 0) * 1000,
  }
}

/** The values of a metric, for each of its labels. */
const valuesOf = (text: string, name: string): readonly number[] =>
  text.split('\n').flatMap((line) => {
    if (!line.startsWith(name) || !/^[{ ]/.test(line.slice(name.length))) return []
    return [Number(line.slice(line.lastIndexOf(' ') + 1))]
  })
