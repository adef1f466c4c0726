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
    asText: "The same as text",
    whatTheGraderSays: "What the grader says",
  },
  zh: {
    lang: "zh-CN",
    chapters: "各章",
    solutions: "参考答案",
    groups: ["给学生", "给教师", "维护实验"],
    leftOut: "只有教师版有这一页。",
    english: "（英文）",
    line: (file, line) => `${file} 第 ${line} 行`,
    download: to =>
      `这些网页讲解实验。要写服务器并给它评分，还需要实验本身：` +
      `<a href="${to}" download>lab.tar.gz</a>。在保存它的目录里运行：`,
    clone: "或者用 git 取得：",
    then: "现在你在实验的目录里。网页中的命令都在这里输入。",
    asText: "同样的内容，用文字表示",
    whatTheGraderSays: "评分程序的输出",
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
