import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bufCurl, bufPackage } from './buf-curl.js'
import { liveService, type LiveService } from './live-service.js'
import { callFile, transcriptOf } from './sample-call.js'

let live: LiveService
let url: string
let common: readonly string[]
beforeAll(async () => {
  live = await liveService()
  const { grpc, ca } = live.service.access
  url = `https://localhost:${grpc.slice(grpc.lastIndexOf(':') + 1)}`
  common = ['--protocol', 'grpc', '--cacert', ca]
})
afterAll(() => live.close())

/** The documents of a JSON output, which `buf` writes one after another over several lines. */
const documents = (text: string): readonly Record<string, unknown>[] =>
  text.split(/(?<=^\})$/m).flatMap((item) => (item.trim() === '' ? [] : [JSON.parse(item) as Record<string, unknown>]))

/** The JSON of the service's messages. */
const contentsOf = (stdout: string): readonly Record<string, unknown>[] =>
  documents(stdout).map(
    ({ message }) => JSON.parse((message as { readonly content: string }).content) as Record<string, unknown>,
  )

/** The offset of the samples, and 20 ms of stereo µ-law. */
const headerBytes = 58
const chunkBytes = 320

const request = (json: object): object => ({ message: { content: JSON.stringify(json), content_type: 'REQUEST' } })
const start = (change: object = {}): object =>
  request({
    MessageName: 'Start',
    Audio: { SampleRate: 8000, ChannelCount: 2, Encoding: 'ulaw' },
    Tenant: 'Default',
    Token: live.token,
    ProjectName: 'transcribe',
    ...change,
  })

const methods = [
  'dataflow/Stream',
  'grpc.health.v1.Health/Check',
  'grpc.health.v1.Health/List',
  'grpc.health.v1.Health/Watch',
]

// Each test starts a program of 47 MB over TLS, and one recognizes a complete call.
describe.skipIf(bufPackage.areAbsent)(bufPackage.title('buf curl over TLS'), () => {
  describe.each(['grpc-v1', 'grpc-v1alpha'])('by reflection (%s)', (version) => {
    const reflected = (args: readonly string[], more: Parameters<typeof bufCurl>[1] = {}) =>
      bufCurl([...common, '--reflect-protocol', version, ...args], more)

    it('lists services and methods', async () => {
      const services = await reflected(['--list-services', url])
      expect(services).toMatchObject({ stdout: 'dataflow\ngrpc.health.v1.Health\n', stderr: '', exitCode: 0 })
      const listed = await reflected(['--list-methods', url])
      expect(listed).toMatchObject({ stdout: `${methods.join('\n')}\n`, stderr: '', exitCode: 0 })
    })

    it('calls Check, List and Watch of the health service', async () => {
      const data = ['--data', '{"service":"dataflow"}']
      const check = await reflected([...data, `${url}/grpc.health.v1.Health/Check`])
      expect([check.exitCode, documents(check.stdout)]).toEqual([0, [{ status: 'SERVING' }]])
      const list = await reflected(['--data', '{}', `${url}/grpc.health.v1.Health/List`])
      const serving = { status: 'SERVING' }
      expect(documents(list.stdout)).toEqual([{ statuses: { '': serving, dataflow: serving } }])
      const watch = await reflected([...data, `${url}/grpc.health.v1.Health/Watch`], { until: /SERVING"\s+\}/ })
      expect(documents(watch.stdout)).toEqual([serving])
    })

    it('reports that a service is unknown', async () => {
      const { exitCode, stderr } = await reflected(['--data', '{}', `${url}/elsewhere.Service/Method`])
      expect(exitCode).not.toBe(0)
      expect(stderr).toContain('elsewhere.Service')
    })

    it('reports a refused Start with its response and its status', async () => {
      const stdin = JSON.stringify(start({ Token: 'wrong' }))
      const { stdout, stderr, exitCode } = await reflected(['--data', '@-', `${url}/dataflow/Stream`], { stdin })
      expect(documents(stdout)).toMatchObject([
        { message: { contentType: 'RESPONSE', content: expect.stringContaining('unauthenticated: ') as string } },
      ])
      expect(JSON.parse(stderr)).toMatchObject({ code: 'unauthenticated' })
      expect(exitCode).not.toBe(0)
    })
  })

  it('calls by the proto file, without reflection', async () => {
    const schema = ['--schema', 'proto']
    const listed = await bufCurl([...schema, '--list-methods'])
    expect(listed).toMatchObject({ stdout: 'dataflow/Stream\n', exitCode: 0 })
    const stdin = [start(), request({ MessageName: 'Stop' })].map((value) => JSON.stringify(value)).join('\n')
    const { stdout, exitCode } = await bufCurl([...common, ...schema, '--data', '@-', `${url}/dataflow/Stream`], {
      stdin,
    })
    expect(contentsOf(stdout)).toMatchObject([
      { MessageName: 'StartResponse', 'operation-result': 'success' },
      { MessageName: 'StopResponse', 'operation-result': 'success' },
    ])
    expect(exitCode).toBe(0)
  })

  it('streams a complete call, and receives the text of both speakers', async () => {
    const samples = readFileSync(callFile).subarray(headerBytes)
    const chunks = Array.from({ length: Math.ceil(samples.length / chunkBytes) }, (_, at) => ({
      message: { binary_content: samples.subarray(at * chunkBytes, (at + 1) * chunkBytes).toString('base64') },
    }))
    const stdin = [start(), ...chunks, request({ MessageName: 'Finalize' })]
      .map((value) => JSON.stringify(value))
      .join('\n')
    const { stdout, exitCode } = await bufCurl([...common, '--data', '@-', `${url}/dataflow/Stream`], { stdin })
    const events = contentsOf(stdout)
    expect(events[0]).toMatchObject({ MessageName: 'StartResponse', 'operation-result': 'success' })
    const finals = events.filter(({ Name }) => Name === 'SR Final')
    expect(finals.map(({ Channel, Data }) => [Channel, (Data as { readonly Text: string }).Text]).sort()).toEqual([
      [0, transcriptOf(0)],
      [1, transcriptOf(1)],
    ])
    expect(exitCode).toBe(0)
  })
})
