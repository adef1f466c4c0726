// What the site itself says, in both languages.

export const WORDS = {
  en: {
    lang: "en",
    chapters: "The chapters",
    solutions: "The solutions",
    groups: ["For students", "For instructors", "Working on the lab"],
    leftOut: "Only the instructors' edition has this page.",
    english: "",
    line: (file, line) => `${file}, line ${line}`,
    download: to =>
      `These pages explain the lab. To write a server and grade it, you need the lab itself: ` +
      `<a href="${to}" download>lab.tar.gz</a>. In the directory where you saved it:`,
    clone: "Or get it with git:",
    then: "You are now in the directory of the lab. All commands of these pages are typed there.",
    timeline: "A server that makes this mistake, as `make trace` shows it. Click on a line with a dotted edge to see its bytes.",
    failure: "The failure",
    states:
      "One connection of the solution, step by step. The solution ran, and a small file that was linked " +
      "with it (`harness/maintain/pictures/states.c`) told what `struct conn` held after each call. The lab's " +
      "library let the first `send()` take 4 bytes only, as a full buffer of the kernel does.",
    allSteps: "All steps",
    actions: {},
    step: ["the client", "`poll()` reports", "the call", "bytes in", "the frame so far", "state", "interest", "bytes out"],
    stepper: { back: "back", forward: "forward", of: "step {} of {}", sent: "sent", none: "none" },
  },
  zh: {
    lang: "zh-CN",
    chapters: "各章",
    solutions: "参考答案",
    groups: ["给学生", "给教师", "维护实验"],
    leftOut: "只有教师版有这一页。",
    english: "（英文）",
    behind: english => `这一页译自英文页的旧版本。英文页在此之后有改动，以[英文页](${english})为准。`,
    line: (file, line) => `${file} 第 ${line} 行`,
    download: to =>
      `这些网页讲解实验。要写服务器并给它评分，还需要实验本身：` +
      `<a href="${to}" download>lab.tar.gz</a>。在保存它的目录里运行：`,
    clone: "或者用 git 取得：",
    then: "现在你在实验的目录里。网页中的命令都在这里输入。",
    timeline: "犯了这个错误的服务器，用 `make trace` 看到的样子。点击带虚线的行，可以看到它的字节。",
    failure: "失败信息",
    states:
      "参考答案里的一个连接，可以一步一步地看。这些内容来自一次真实的运行：一个小文件" +
      "（`harness/maintain/pictures/states.c`）与参考答案链接在一起，报告每次调用之后 `struct conn` 里有什么。" +
      "实验的库让第一次 `send()` 只接受 4 个字节，内核的缓冲区满了就会这样。",
    allSteps: "所有步骤",
    // The texts of docs/states/*.json, up to the bytes.
    actions: {
      "A connects": "A 连接",
      "A sends half of the header": "A 发送帧头的一半",
      "A sends the other half, and 2 bytes of the body": "A 发送帧头的另一半，以及帧体的 2 个字节",
      "A sends the remainder of the body": "A 发送帧体的其余部分",
      "A half-closes: it sends no more": "A 半关闭：它不再发送",
      "the listener": "监听描述符",
    },
    step: ["客户端", "`poll()` 报告", "调用", "收到的字节", "到目前为止的帧", "状态", "关注", "发出的字节"],
    stepper: { back: "后退", forward: "前进", of: "第 {} 步，共 {} 步", sent: "已发送", none: "无" },
  },
};

// The theme's own words; in English they are those of VitePress.
export const CHINESE_THEME = {
  outline: { level: [2, 3], label: "本页目录" },
  docFooter: { prev: "上一页", next: "下一页" },
  darkModeSwitchLabel: "外观",
  lightModeSwitchTitle: "切换到浅色",
  darkModeSwitchTitle: "切换到深色",
  sidebarMenuLabel: "目录",
  returnToTopLabel: "回到顶部",
  langMenuLabel: "切换语言",
  skipToContentLabel: "跳到正文",
  notFound: {
    title: "没有这一页",
    quote: "链接可能写错了，或者这一版没有这一页。",
    linkLabel: "回到首页",
    linkText: "回到首页",
  },
};

export const CHINESE_SEARCH = {
  button: { buttonText: "搜索", buttonAriaLabel: "搜索" },
  modal: {
    displayDetails: "显示详细列表",
    resetButtonTitle: "清除",
    backButtonTitle: "关闭搜索",
    noResultsText: "没有找到",
    footer: {
      selectText: "选择",
      selectKeyAriaLabel: "回车",
      navigateText: "移动",
      navigateUpKeyAriaLabel: "上箭头",
      navigateDownKeyAriaLabel: "下箭头",
      closeText: "关闭",
      closeKeyAriaLabel: "Esc",
    },
  },
};
