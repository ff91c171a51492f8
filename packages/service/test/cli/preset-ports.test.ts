import { createServer, type AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { onFreePorts, type ServeBasics } from '../../src/cli/service/start-planned.js'

describe('the preset ports of a development service', () => {
  const occupant = createServer()
  let taken = 0
  beforeEach(async () => {
    await new Promise<void>((resolve) => occupant.listen(0, '127.0.0.1', resolve))
    taken = (occupant.address() as AddressInfo).port
  })
  afterEach(() => new Promise((resolve) => occupant.close(resolve)))

  const at = (port: number) => ({ host: '127.0.0.1', port })
  const plan = (preset: ServeBasics['preset']) => ({
    options: { http: at(taken), grpc: at(0), plainHttp: at(taken) },
    preset,
  })

  it('are replaced by free ones where they are taken, and those that were chosen are not', async () => {
    const { service, movedPorts } = await onFreePorts(plan(['http', 'grpc']), (addresses) => Promise.resolve(addresses))
    expect(service).toEqual({ http: at(0), grpc: at(0), plainHttp: at(taken) })
    expect(movedPorts).toEqual([{ name: 'http', from: taken }])
  })

  it('are tried again when another process takes one between the check and the start, and not forever', async () => {
    let starts = 0
    const failing = (times: number) => () => {
      starts += 1
      return starts > times ? Promise.resolve(starts) : Promise.reject(new SpeechError('listen-failed', 'in use'))
    }
    expect(await onFreePorts(plan(['http']), failing(2))).toMatchObject({ service: 3 })
    starts = 0
    await expect(onFreePorts(plan(['http']), failing(9))).rejects.toMatchObject({ code: 'listen-failed' })
    expect(starts).toBe(3)
    starts = 0
    await expect(onFreePorts(plan([]), failing(9))).rejects.toMatchObject({ code: 'listen-failed' })
    expect(starts).toBe(1)
  })
})
