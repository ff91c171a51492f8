import { describe, expect, it } from 'vitest'
import { operationsFigures, parseMetrics } from '../../src/operations/prometheus.js'

const text = `# HELP rxspeech_ready 1 while the service accepts new sessions.
# TYPE rxspeech_ready gauge
rxspeech_ready 1
rxspeech_sessions{interface="grpc",state="running"} 2
rxspeech_sessions{interface="websocket",state="running"} 3
rxspeech_sessions{interface="websocket",state="idle"} 0
rxspeech_load 0.125
rxspeech_sessions_started_total{interface="grpc",tenant="Default",model="a \\"b\\", c"} 7
rxspeech_refusals_total{interface="websocket",code="overloaded"} 4
rxspeech_refusals_total{interface="grpc",code="overloaded"} 1
rxspeech_audio_seconds_total{interface="grpc",tenant="Default",model="call"} 12.5
rxspeech_milestone_seconds_sum{interface="grpc",model="call"} 0.5
rxspeech_milestone_seconds_count{interface="grpc",model="call"} 10
`

describe('the metrics of the service', () => {
  it('reads values, and labels with escapes', () => {
    const samples = parseMetrics(text).get('rxspeech_sessions_started_total')
    expect(samples).toEqual([{ labels: { interface: 'grpc', tenant: 'Default', model: 'a "b", c' }, value: 7 }])
  })

  it('sums up what operators see', () => {
    expect(operationsFigures(text)).toEqual({
      isReady: true,
      sessions: [
        { name: 'websocket, running', count: 3 },
        { name: 'grpc, running', count: 2 },
      ],
      open: 5,
      loadPercent: 12.5,
      started: 7,
      ended: [],
      refusals: [{ name: 'overloaded', count: 5 }],
      audioSeconds: 12.5,
      milestoneMs: 50,
    })
  })
})
