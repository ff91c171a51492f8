import { readFileSync } from 'node:fs'
import { cpus, freemem, totalmem } from 'node:os'
import type { MeasuredService, ServiceSample } from './measured-service.js'
import { quantile, type MachineUse, type ServiceUse } from './step-verdict.js'

interface Sample {
  readonly service: ServiceSample | undefined
  readonly machineCpuMs: number
  readonly availableBytes: number
}

const sampleMs = 1_000

/** Samples a service and the machine at the beginning of a measurement, each second, and at its end. */
export class UseSampler {
  readonly #inspect: MeasuredService['inspect']
  readonly #samples: Sample[] = []
  #timer: NodeJS.Timeout | undefined
  #last = Promise.resolve()

  constructor(inspect: MeasuredService['inspect']) {
    this.#inspect = inspect
  }

  start(): void {
    this.#take()
    this.#timer = setInterval(() => this.#take(), sampleMs)
  }

  stop(): void {
    if (this.#timer === undefined) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#take()
  }

  /** What was used between the first and the last sample. */
  async use(): Promise<{ readonly service: ServiceUse | undefined; readonly machine: MachineUse }> {
    await this.#last
    return { service: serviceUse(this.#samples), machine: machineUse(this.#samples) }
  }

  #take(): void {
    this.#last = this.#last.then(async () => {
      // A service that does not answer in time is too busy, which its results show.
      const service = await this.#inspect?.().catch(() => undefined)
      this.#samples.push({ service, machineCpuMs: machineCpuMs(), availableBytes: availableBytes() })
    })
  }
}

const machineCpuMs = (): number =>
  cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0)

/** Memory that programs can get, with what caches give back; `freemem` counts that for some versions of Node only. */
const availableBytes = (): number => {
  try {
    const [, kilobytes] = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8')) ?? []
    return kilobytes === undefined ? freemem() : Number(kilobytes) * 1024
  } catch {
    return freemem()
  }
}

const machineUse = (samples: readonly Sample[]): MachineUse => ({
  cpus: cpus().length,
  cpuMs: (samples.at(-1)?.machineCpuMs ?? 0) - (samples[0]?.machineCpuMs ?? 0),
  availableBytes: Math.min(totalmem(), ...samples.map((sample) => sample.availableBytes)),
  totalBytes: totalmem(),
})

const serviceUse = (samples: readonly Sample[]): ServiceUse | undefined => {
  const known = samples.flatMap(({ service }) => service ?? [])
  const [first, last] = [known[0], known.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const grown = (key: 'cpuMs' | 'engineBusyMs'): number | undefined =>
    last[key] === undefined ? undefined : last[key] - (first[key] ?? 0)
  const memories = known.flatMap(({ memoryBytes }) => memoryBytes ?? [])
  const median = (key: 'load' | 'loopDelayMs'): number =>
    quantile(
      known.map((sample) => sample[key]),
      0.5,
    )
  return {
    cpuMs: grown('cpuMs'),
    engineBusyMs: grown('engineBusyMs'),
    memoryBytes: memories.length === 0 ? undefined : Math.max(...memories),
    // A single long turn is no limit.
    load: median('load'),
    loopDelayMs: median('loopDelayMs'),
  }
}
