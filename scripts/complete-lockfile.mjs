// adds entries for platform packages the local registry does not carry, so `npm ci` accepts the lockfile everywhere
import fs from 'node:fs';
const f=process.argv[2]; const lock=JSON.parse(fs.readFileSync(f,'utf8')); const P=lock.packages; let n=0;
const OS={darwin:'darwin',linux:'linux',win32:'win32',windows:'win32',android:'android',freebsd:'freebsd',openharmony:'openharmony',openbsd:'openbsd',netbsd:'netbsd',sunos:'sunos',aix:'aix',wasm32:null};
const CPU=['arm64','x64','ia32','arm','ppc64','s390x','riscv64','loong64','mips64el'];
for (let round=0;round<3;round++) for (const [k,p] of Object.entries(P)) for (const [name,range] of Object.entries(p.optionalDependencies??{})) {
  const nested=k? k+'/node_modules/'+name : null;
  if (P['node_modules/'+name] || (nested&&P[nested])) continue;
  const ver=range.replace(/^[\^~]/,'').replace(/^npm:.*@/,'');
  const parts=name.split(/[/-]/);
  const e={version:ver,optional:true};
  if (p.dev) e.dev=true;
  const cpu=parts.includes('wasm32')?['wasm32']:CPU.filter(c=>parts.includes(c)); if(cpu.length)e.cpu=cpu;
  const os=parts.map(x=>OS[x]).filter(Boolean); if(os.length)e.os=os;
  if(os[0]==='linux'){ if(parts.some(x=>x.startsWith('musl')))e.libc=['musl']; else if(parts.some(x=>x.startsWith('gnu')))e.libc=['glibc']; }
  P['node_modules/'+name]=e; n++; console.log(name,JSON.stringify(e));
}
lock.packages=Object.fromEntries(Object.entries(P).sort(([a],[b])=>a<b?-1:a>b?1:0));
fs.writeFileSync(f,JSON.stringify(lock,null,2)+'\n'); console.log('added',n);
